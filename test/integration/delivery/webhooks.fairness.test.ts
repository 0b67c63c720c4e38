import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openDispatcher } from '../../../src/delivery/webhooks/dispatch/dispatcher.ts';
import type { Send } from '../../../src/delivery/webhooks/send.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { openRows } from '../../support/worlds/publishing/webhooks.ts';

// The dispatcher over real rows, with few places, and with receivers that answer when the test says so.

let db: TestDatabase;
let rows: ReturnType<typeof openRows>;
beforeAll(async () => {
  db = await testDatabase();
  rows = openRows(db.sql);
});
afterAll(async () => db[Symbol.asyncDispose]());

/** A webhook with so many deliveries that wait: new ones, or some that were sent and are queued again. */
async function webhookWith(deliveries: number, { replayed = false } = {}) {
  const [orgId, id] = [await rows.org(), newId()];
  const url = `https://${id}.test/`;
  await db.sql`
    insert into webhooks (id, org_id, name, url, due_at)
    values (${id}, ${orgId}, 'Hook', ${url}, now())`;
  await db.sql`
    insert into webhook_deliveries (id, org_id, webhook_id, outbox_id, seq, event, body, attempts, replayed_from,
      next_attempt_at)
    select gen_random_uuid(), ${orgId}, ${id}, n, n, 'post.published', '{}', ${replayed ? 1 : 0}, ${replayed ? 1 : 0},
      ${replayed ? null : new Date()}
    from generate_series(1, ${deliveries}) n`;
  return { key: `${orgId}:${id}`, url };
}
function open(inFlight: { inAll: number; ofOne: number; waiting: number }) {
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const send: Send = async ({ url }) => {
    sent.push(url);
    await new Promise<void>((answer) => answers.push(answer));
    return { ok: true, status: 200, durationMs: 1, error: null } as Awaited<ReturnType<Send>>;
  };
  const dispatcher = openDispatcher({
    sql: db.sql,
    clock: systemClock,
    send,
    log: quietLog(),
    incarnation: newId(),
    timeoutMs: 20_000,
    unsignedTimeoutMs: 20_000,
    inFlight,
  });
  return {
    sent,
    deliver: (key: string) => dispatcher.deliver(key),
    /** The receiver of the oldest request that is under way answers. */
    answer: () => answers.shift()!(),
    async [Symbol.asyncDispose]() {
      const drained = dispatcher.drain(0);
      for (const answer of answers.splice(0)) answer();
      await drained;
    },
  };
}

test.each([
  ['deliveries', false],
  ['replays', true],
])('10,000 %s of one organization delay the first of another by one', async (_, replayed) => {
  const flood = await webhookWith(10_000, { replayed });
  const other = await webhookWith(1);
  await using world = open({ inAll: 1, ofOne: 1, waiting: 100 });
  const working = world.deliver(flood.key);
  await settles(() => expect(world.sent).toEqual([flood.url]));
  const asked = world.deliver(other.key);
  world.answer();
  await settles(() => expect(world.sent).toEqual([flood.url, other.url]));
  world.answer();
  await asked;
  await settles(() => expect(world.sent).toEqual([flood.url, other.url, flood.url]));
  void working;
});

test('a webhook that finds too many waiting is refused as busy, and is sent when it is woken again [R15]', async () => {
  const hooks = await Promise.all(Array.from({ length: 4 }, () => webhookWith(1)));
  const [first, second, third, fourth] = hooks;
  await using world = open({ inAll: 1, ofOne: 1, waiting: 2 });
  const working = [first!, second!, third!].map(({ key }) => world.deliver(key));
  await settles(() => expect(world.sent).toHaveLength(1));
  await expect(world.deliver(fourth!.key)).rejects.toMatchObject({ code: 'busy', extra: { retryAfterMs: 1_000 } });
  for (let n = 1; n <= 3; n++) {
    await settles(() => expect(world.sent).toHaveLength(n));
    world.answer();
  }
  await Promise.all(working);
  const again = world.deliver(fourth!.key);
  await settles(() => expect(world.sent.at(-1)).toBe(fourth!.url));
  world.answer();
  await again;
});
