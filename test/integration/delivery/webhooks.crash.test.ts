import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isSigned } from '../../support/processes/history.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { addWebhook, announce, openRows, startHost } from '../../support/worlds/publishing/webhooks.ts';

/** In each but the last the process is killed. */
const ROUNDS = 4;
const POSTS = ROUNDS * 20;

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

test('kill -9 and cut connections in the middle lose no event: every webhook gets each one, or three recorded attempts, under one id and number, with the same bytes and a signature that fits [R8, WH32]', async () => {
  const rows = openRows(db.sql);
  const orgId = await rows.org();
  const channelId = await rows.channel(orgId);
  receiver.answer = (response, { path }) =>
    void setTimeout(() => response.writeHead(path === '/failing' ? 500 : 200).end(), 5);
  const hooks = new Map<string, { id: string; secret: string }>();
  {
    await using judge = await startHost({ url: db.url }); // stores the webhooks and delivers nothing
    for (const path of ['/a', '/b', '/c', '/failing']) {
      const numbered = { secret: true, events: ['post.published'] }; // those that name events get numbers
      const { id, secret } = await addWebhook(judge.webhooks, orgId, `${receiver.url}${path}`, numbered);
      hooks.set(path, { id, secret: secret! });
    }
  }
  const posts = await Promise.all(Array.from({ length: POSTS }, () => rows.post(orgId, channelId)));
  let child = await start();
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = receiver.ledger.length;
    await announce(db.sql, orgId, 'post.published', posts.slice(round * 20, round * 20 + 20));
    await settles(() => expect(receiver.ledger.length).toBeGreaterThan(before + 7));
    if (round === ROUNDS - 1) {
      // the database has its turn
      await db.sql`
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where datname = current_database() and application_name = 'webhook-process'`;
      break;
    }
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
      await db.sql`
        select count(*)::int as made, count(*) filter (where state = 'pending' or attempts = 0)::int as open
        from webhook_deliveries`,
    ).toEqual([{ made: hooks.size * POSTS, open: 0 }]);
  }, 50_000);
  child.kill('SIGKILL');

  const numbers = new Map([...hooks.keys()].map((path) => [path, new Map<number, string>()]));
  for (const { path, body, headers } of receiver.ledger) {
    expect([path, isSigned({ headers, body }, hooks.get(path)!.secret)]).toEqual([path, true]);
    const number = Number(headers['webhook-seq']);
    const id = headers['webhook-id'] as string;
    expect([path, number, numbers.get(path)!.get(number) ?? id]).toEqual([path, number, id]);
    numbers.get(path)!.set(number, id);
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
    expect([path, [...numbers.get(path)!.keys()].toSorted((a, b) => a - b)]).toEqual([
      path,
      posts.map((_, n) => n + 1),
    ]);
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
      .map(({ webhookId, ...row }) => [[...hooks].find(([, { id }]) => id === webhookId)![0], row])
      .toSorted(),
  ).toEqual(
    ['/a', '/b', '/c']
      .map((path) => [path, { attempts: 1, rows: 1, n: POSTS }])
      .concat([['/failing', { attempts: 3, rows: 3, n: POSTS }]]),
  );
  const stats = await db.sql`
      select total::int as total, succeeded::int as succeeded, failed::int as failed from webhooks order by url`;
  expect(stats).toEqual([
    ...[1, 2, 3].map(() => ({ total: POSTS, succeeded: POSTS, failed: 0 })),
    { total: POSTS, succeeded: 0, failed: POSTS },
  ]);
}, 120_000);
