import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { addWebhook, announce, openRows, startHost } from '../../support/worlds/publishing/webhooks.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let receivers: Receiver[];
const statements: string[] = [];
let host: Awaited<ReturnType<typeof startHost>>;
beforeAll(async () => {
  db = await testDatabase();
  receivers = await Promise.all(Array.from({ length: 20 }, () => startReceiver()));
  host = await startHost({ url: db.url, onStatement: (text) => void statements.push(text) });
  await host.starts();
});
afterAll(async () => {
  for (const one of [host, ...receivers]) await one[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** All that was sent while `work` ran, without the sweeps of an idle relay and the heartbeats of the process. */
async function counted(work: () => Promise<void>): Promise<number> {
  statements.length = 0;
  await work();
  return statements.filter((text) => !/from lease left join|insert into actor_hosts/.test(text)).length;
}
async function world() {
  const rows = openRows(db.sql);
  const orgId = await rows.org();
  const channelId = await rows.channel(orgId);
  const ids = [];
  for (const { url } of receivers) ids.push((await addWebhook(host.webhooks, orgId, url)).id);
  const done = (count: number) =>
    settles(
      async () =>
        expect(
          await db.sql`
            select count(*)::int as n from webhook_deliveries where org_id = ${orgId} and state = 'succeeded'`,
        ).toEqual([{ n: count }]),
      50_000,
    );
  const publish = async (count: number) => {
    await announce(
      db.sql,
      orgId,
      'post.published',
      await Promise.all(Array.from({ length: count }, () => rows.post(orgId, channelId))),
    );
  };
  return { done, publish };
}

test('one event to 20 endpoints: at most 45 statements, one wake-up, 20 requests (H13)', async () => {
  const { done, publish } = await world();
  host.wakeUps.length = 0;
  const sent = await counted(async () => {
    await publish(1);
    await done(20);
  });
  expect(sent).toBeLessThanOrEqual(45);
  expect([host.wakeUps.length, receivers.map(({ ledger }) => ledger.length)]).toEqual([1, Array(20).fill(1)]);
});

test('100 events to 20 endpoints: at most half a statement and a quarter of a commit for each delivery, one in flight per endpoint (H14)', async () => {
  const { done, publish } = await world();
  for (const receiver of receivers) receiver.ledger.length = 0;
  const sent = await counted(async () => {
    await publish(100);
    await done(2_000);
  });
  expect(sent).toBeLessThanOrEqual(500); // each of them is a commit of its own: the stricter of the two
  expect(receivers.map(({ ledger, mostInFlight }) => [ledger.length, mostInFlight])).toEqual(
    receivers.map(() => [100, 1]),
  );
});
