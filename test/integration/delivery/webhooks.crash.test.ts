import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { addWebhook, announce, openRows, startHost } from '../../support/worlds/publishing/webhooks.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let receiver: Receiver;
const processes: ChildProcess[] = [];
beforeAll(async () => {
  db = await testDatabase();
  receiver = await startReceiver();
});
afterAll(async () => {
  for (const one of processes) one.kill('SIGKILL');
  await receiver[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** A delivering process; killing it leaves everything as it is. */
async function start(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['test/support/processes/scripts/webhook-process.ts', db.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  processes.push(child);
  await once(child.stdout!, 'data');
  return child;
}

test('kill -9 in the middle loses no event: every webhook gets each one, or three recorded attempts, under one id and with the same bytes [WH32]', async () => {
  const rows = openRows(db.sql);
  const orgId = await rows.org();
  const channelId = await rows.channel(orgId);
  receiver.answer = (response, { path }) =>
    void setTimeout(() => response.writeHead(path === '/failing' ? 500 : 200).end(), 5);
  const hooks = new Map<string, string>();
  {
    await using judge = await startHost({ url: db.url }); // stores the webhooks and delivers nothing
    for (const path of ['/a', '/b', '/c', '/failing'])
      hooks.set(path, (await addWebhook(judge.webhooks, orgId, `${receiver.url}${path}`)).id);
  }
  const posts = await Promise.all(Array.from({ length: 60 }, () => rows.post(orgId, channelId)));
  let child = await start();
  for (let round = 0; round < 3; round += 1) {
    const before = receiver.ledger.length;
    await announce(db.sql, orgId, 'post.published', posts.slice(round * 20, round * 20 + 20));
    await settles(() => expect(receiver.ledger.length).toBeGreaterThan(before + 7));
    child.kill('SIGKILL');
    await once(child, 'exit');
    // what it had begun in the database goes on to its end, and could take the lease or send a heartbeat once more
    await settles(async () =>
      expect(
        await db.sql`
          select from pg_stat_activity where datname = current_database() and application_name = 'webhook-process'`,
      ).toHaveLength(0),
    );
    await db.sql`update leases set expires_at = now()`; // sparing the test the wait, not the product its work
    await db.sql`update actor_hosts set last_heartbeat = now() - interval '6 s'`;
    await db.sql`update webhooks set due_at = due_at - interval '6 s'`;
    child = await start();
  }
  const ids = new Map<string, Set<string>>();
  await settles(async () => {
    await db.sql`
      update webhooks
      set due_at = due_at - interval '6 s'
      where due_at > now() - interval '4 s' and slot_incarnation is null`;
    expect(
      await db.sql`select count(*)::int as n from webhook_deliveries where state = 'pending' or attempts = 0`,
    ).toEqual([{ n: 0 }]);
  }, 50_000);
  child.kill('SIGKILL');

  for (const { path, body, headers } of receiver.ledger) {
    const { data } = JSON.parse(body.toString()) as { data: { postId: string } };
    const key = `${path} ${data.postId}`;
    ids.set(
      key,
      (ids.get(key) ?? new Set()).add(
        `${headers['webhook-id'] as string} ${body.toString()} ${headers['x-service-signature'] as string}`,
      ),
    );
  }
  for (const path of hooks.keys())
    for (const post of posts) expect([path, ids.get(`${path} ${post}`)?.size]).toEqual([path, 1]);
  const recorded = await db.sql<{ webhookId: string; attempts: number; rows: number; n: number }[]>`
    select d.webhook_id as "webhookId", d.attempts,
      (select count(*)::int from webhook_attempts a where a.delivery_id = d.id) as rows, count(*)::int as n
    from webhook_deliveries d
    group by 1, 2, 3`;
  expect(
    recorded
      .toSorted((a, b) => a.attempts - b.attempts)
      .map(({ webhookId, ...row }) => [[...hooks].find(([, id]) => id === webhookId)![0], row])
      .toSorted(),
  ).toEqual(
    ['/a', '/b', '/c']
      .map((path) => [path, { attempts: 1, rows: 1, n: 60 }])
      .concat([['/failing', { attempts: 3, rows: 3, n: 60 }]]),
  );
  const stats = await db.sql`
      select total::int as total, succeeded::int as succeeded, failed::int as failed from webhooks order by url`;
  expect(stats).toEqual([
    ...[1, 2, 3].map(() => ({ total: 60, succeeded: 60, failed: 0 })),
    { total: 60, succeeded: 0, failed: 60 },
  ]);
}, 120_000);
