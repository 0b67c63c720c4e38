import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { addWebhook, announce, openRows, startHost, tls } from '../../support/worlds/publishing/webhooks.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let rows: ReturnType<typeof openRows>;
let receiver: Receiver;
let host: Awaited<ReturnType<typeof startHost>>;
let orgId: string;
let channelId: string;
let id: string;
beforeAll(async () => {
  db = await testDatabase();
  rows = openRows(db.sql);
});
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => {
  receiver = await startReceiver({ tls });
  host = await startHost({ url: db.url });
  await host.starts();
  orgId = await rows.org();
  channelId = await rows.channel(orgId);
  ({ id } = await addWebhook(host.webhooks, orgId, `https://hook.test:${receiver.port}/hook`, {
    events: ['post.published', 'post.late'],
  }));
});
afterEach(async () => {
  for (const one of [host, receiver]) await one[Symbol.asyncDispose]();
});

const tell = async (count: number, topic: 'post.published' | 'post.late' = 'post.published') => {
  const posts = await Promise.all(Array.from({ length: count }, () => rows.post(orgId, channelId)));
  await announce(db.sql, orgId, topic, posts, topic === 'post.late' ? { latenessMs: 1 } : {});
};
const got = (count: number) => settles(() => expect(receiver.ledger).toHaveLength(count));
const sent = () => receiver.ledger.map(({ headers, body }) => [headers['webhook-id'], body.toString()]);
const seqs = () => receiver.ledger.map(({ headers }) => Number(headers['webhook-seq']));
const fail = (...numbers: number[]) =>
  db.sql`update webhook_deliveries set state = 'failed' where webhook_id = ${id} and seq = any(${numbers}::bigint[])`;
const replay = async (filter: Parameters<typeof host.webhooks.replay>[2] = {}) => {
  const queued = await host.webhooks.replay(orgId, id, filter);
  await host.webhooks.deliver(`${orgId}:${id}`);
  return queued;
};
const over = () =>
  settles(async () =>
    expect(await db.sql`select from webhook_deliveries where webhook_id = ${id} and state = 'pending'`).toHaveLength(0),
  );

describe('replay', () => {
  test('sends the same ids and bytes in their order, behind what is new [S170, W1]', async () => {
    await tell(5);
    await got(5);
    await over();
    const first = sent();
    await fail(2, 3, 4);
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    receiver.answer = (response) => void gate.then(() => response.writeHead(200).end());
    const replayed = replay({ state: 'failed' });
    await got(6); // the first of them is on its way
    await tell(1);
    await settles(async () =>
      expect(await db.sql`select from webhook_deliveries where webhook_id = ${id} and seq = 6`).toHaveLength(1),
    );
    go();
    expect(await replayed).toBe(3);
    await got(9);
    expect(seqs()).toEqual([1, 2, 3, 4, 5, 2, 6, 3, 4]);
    const again = sent();
    expect([again[5], again[7], again[8]]).toEqual(first.slice(1, 4));
    await over();
  });

  test('takes what lies between two numbers, of one event or of one outcome, and nothing of others [S170]', async () => {
    await tell(3);
    await tell(2, 'post.late');
    await got(5);
    await over();
    await fail(1, 4);
    expect(await replay({ after: 1, before: 4 })).toBe(2);
    await got(7);
    await over();
    expect(await replay({ event: 'post.late', state: 'succeeded' })).toBe(1);
    await got(8);
    await over();
    expect(seqs().slice(5)).toEqual([2, 3, 5]);
    expect(await replay({ event: 'post.failed' })).toBe(0);
    await expect(host.webhooks.replay(await rows.org(), id, {})).rejects.toMatchObject({ code: 'not_found' });
    await expect(host.webhooks.replay(orgId, newId(), {})).rejects.toMatchObject({ code: 'not_found' });
  });

  test('queues 10,000 at once at most', async () => {
    await db.sql`
      insert into webhook_deliveries (id, org_id, webhook_id, outbox_id, seq, event, body, state, attempts)
      select gen_random_uuid(), ${orgId}, ${id}, -g, g, 'post.published', '{}', 'succeeded', 1
      from generate_series(1, 10001) g`;
    expect(await host.webhooks.replay(orgId, id, {})).toBe(10_000);
    const left = await db.sql`select seq::int from webhook_deliveries where webhook_id = ${id} and state <> 'pending'`;
    expect(left.map((row) => row['seq'])).toEqual([10_001]);
    await host.webhooks.remove(orgId, id);
  });

  test('makes three attempts again; the 20th failure in a row is announced, once [S171]', async () => {
    await db.sql`insert into outbox_cursors (listener) values ('observer') on conflict do nothing`; // keeps what is heard
    await tell(1);
    await got(1);
    await over();
    await db.sql`update webhooks set consecutive_failures = 19 where id = ${id}`;
    receiver.answer = (response) => void response.writeHead(500).end();
    expect(await replay()).toBe(1);
    await got(4);
    await over();
    const attempts = await host.webhooks.attempts(orgId, id, { limit: 10, state: 'failed' });
    expect(attempts.items.map(({ attempt, status }) => [attempt, status])).toEqual([[4, 500]]);
    await host.webhooks.testPing(orgId, id);
    const facts = await db.sql`select entity_id, payload from outbox where topic = 'webhook.failing'`;
    expect(facts).toEqual([
      { entity_id: id, payload: { name: 'Hook', failures: 20, lastStatus: 500, lastError: 'HTTP 500' } },
    ]);
    expect(await host.webhooks.get(orgId, id)).toMatchObject({ consecutiveFailures: 21 });
    await db.sql`delete from outbox_cursors where listener = 'observer'`;
  });
});

test('events say which number is the oldest that is still kept [S170]', async () => {
  expect(await host.webhooks.events(orgId, id, 0)).toEqual({ items: [], last: 0, oldest: null });
  await tell(3);
  await got(3);
  expect(await host.webhooks.events(orgId, id, 0)).toMatchObject({ last: 3, oldest: 1 });
  await db.sql`delete from webhook_deliveries where webhook_id = ${id} and seq < 3`;
  const { items, last, oldest } = await host.webhooks.events(orgId, id, 0);
  expect([items.map(({ seq }) => seq), last, oldest]).toEqual([[3], 3, 3]);
});
