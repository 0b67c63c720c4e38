import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { webhooksListener } from '../../../src/delivery/webhooks/index.ts';
import { deleteWebhook } from '../../../src/delivery/webhooks/store.ts';
import type { Sql } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Fact } from '../../../src/platform/outbox/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';
import { postPayload } from '../../support/worlds/mail/notified.ts';
import { addWebhook, openRows, startHost, tls } from '../../support/worlds/publishing/webhooks.ts';

// Two transactions at one webhook: each test holds it in one of them until the other one waits.

let db: TestDatabase;
let receiver: Receiver;
let host: Awaited<ReturnType<typeof startHost>>; // its actors and listeners do not run
let orgId: string;
let id: string;
beforeAll(async () => {
  db = await testDatabase();
  receiver = await startReceiver({ tls });
  host = await startHost({ url: db.url });
});
afterAll(async () => {
  for (const one of [host, receiver, db]) await one?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  orgId = await openRows(db.sql).org();
  ({ id } = await addWebhook(host.webhooks, orgId, `https://hook.test:${receiver.port}/hook`));
});

/** Starts a call while a transaction does something, which is committed as soon as the call waits for it. */
async function meanwhile<T>(
  held: (tx: Sql) => Promise<unknown>,
  call: () => Promise<T>,
  whileItWaits: (tx: Sql) => Promise<unknown> = async () => undefined,
): Promise<T> {
  let called: Promise<T> | undefined;
  await db.sql.begin(async (tx) => {
    await held(tx);
    called = call();
    await settles(async () => expect(await waitingOnLock(db.sql)).toBe(1));
    await whileItWaits(tx);
  });
  return called!;
}
/** Hears of a published post in a transaction; answers the webhooks that it wakes. */
async function hear(tx: Sql): Promise<string[]> {
  const fact = {
    id: '1',
    orgId,
    topic: 'post.published',
    entityId: newId(),
    payload: postPayload(null),
    at: new Date(),
  };
  const woken: string[] = [];
  await webhooksListener.hear(
    tx,
    [fact as Fact],
    (_, keys) => void woken.push(...keys),
    () => undefined,
  );
  return woken;
}
/** A delivery that is over. */
async function over(state: 'succeeded' | 'failed') {
  await db.sql.begin(hear);
  const [delivery] = await db.sql<{ id: string }[]>`
    update webhook_deliveries set state = ${state}, attempts = 1 where webhook_id = ${id} returning id`;
  return delivery!.id;
}
const states = async () =>
  (await db.sql`select state from webhook_deliveries where webhook_id = ${id}`).map((row) => row['state'] as string);
const lock = (tx: Sql) => tx`select from webhooks where id = ${id} for no key update`;

describe('deleting a webhook', () => {
  test('drops deliveries that were made while it waited [S167]', async () => {
    await meanwhile(hear, () => host.webhooks.remove(orgId, id));
    expect(await states()).toEqual([]);
  });

  test('leaves nothing to whoever makes deliveries and waited for it [S167]', async () => {
    const woken = await meanwhile(
      (tx) => deleteWebhook(tx, orgId, id),
      () => db.sql.begin(hear),
    );
    const [webhook] = await db.sql`select due_at from webhooks where id = ${id}`;
    expect([woken, await states(), webhook]).toEqual([[], [], { due_at: null }]);
  });
});

test('a replay of what failed leaves out what succeeded while it waited [S170]', async () => {
  const delivery = await over('failed');
  const queued = await meanwhile(
    async (tx) => {
      await lock(tx);
      await tx`update webhook_deliveries set state = 'succeeded' where id = ${delivery}`;
    },
    () => host.webhooks.replay(orgId, id, { state: 'failed' }),
  );
  expect([queued, await states()]).toEqual([0, ['succeeded']]);
});

test('one more attempt holds no delivery while it waits for the webhook, as a replay does', async () => {
  const delivery = await over('failed');
  const sent = await meanwhile(
    lock,
    () => host.webhooks.redeliver(orgId, id, delivery),
    (tx) => tx`select from webhook_deliveries where id = ${delivery} for update nowait`,
  );
  expect([sent, await states()]).toEqual([{ success: true, status: 200 }, ['succeeded']]);
});

test('the sweep of old deliveries waits for no replay, and leaves what one queues again [S170]', async () => {
  const replayed = await over('failed');
  await db.sql`update webhook_deliveries set created_at = now() - interval '1 year' where webhook_id = ${id}`;
  let swept: Promise<number>;
  let hasWaited: boolean | undefined;
  await db.sql.begin(async (tx) => {
    await tx`update webhook_deliveries set state = 'pending' where id = ${replayed}`;
    swept = host.webhooks.dropOld(100);
    void swept.then(() => (hasWaited ??= false));
    await eventually('it ends, or waits', async () => {
      if ((await waitingOnLock(db.sql)) > 0) hasWaited ??= true;
      return hasWaited !== undefined;
    });
  });
  await swept!;
  expect([hasWaited, await states()]).toEqual([false, ['pending']]);
});
