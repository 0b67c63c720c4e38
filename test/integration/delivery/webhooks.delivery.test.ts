// oxlint-disable max-lines -- one database serves all cases
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { openAdvance } from '../../../src/delivery/webhooks/dispatch/advance.ts';
import { listAttemptsOfPost } from '../../../src/delivery/webhooks/deliveries-store.ts';
import { overdueWebhooks } from '../../../src/delivery/webhooks/dispatch/slots.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { gate } from '../../support/wire/eventually.ts';
import { setReadOnly } from '../../support/processes/read-only.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { addWebhook, announce, openRows, startHost, tls } from '../../support/worlds/publishing/webhooks.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let rows: ReturnType<typeof openRows>;
let receiver: Receiver;
let host: Awaited<ReturnType<typeof startHost>>;
let orgId: string;
let channelId: string;
const extra: AsyncDisposable[] = [];
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
});
afterEach(async () => {
  for (const one of [...extra.splice(0), host, receiver]) await one[Symbol.asyncDispose]();
});

/** In the place of the host of this test one with so much time for an attempt. */
async function hostWithin(timeoutMs: number): Promise<void> {
  await host[Symbol.asyncDispose]();
  host = await startHost({ url: db.url, timeoutMs });
  await host.starts();
}
const hook = (path = '/hook') => `https://hook.test:${receiver.port}${path}`;
const published = async (count = 1, more: Parameters<typeof rows.post>[2] = {}, channel = channelId) => {
  const posts = await Promise.all(Array.from({ length: count }, () => rows.post(orgId, channel, more)));
  await announce(db.sql, orgId, 'post.published', posts);
  return posts;
};
const got = (count: number) => settles(() => expect(receiver.ledger.length).toBeGreaterThanOrEqual(count));
const stats = async (id: string) => await host.webhooks.get(orgId, id);
const attempts = async (id: string) =>
  (await host.webhooks.attempts(orgId, id, { limit: 100, cursor: undefined })).items.toReversed();
const overdue = async () => (await host.webhooks.overdue(1_000)).filter((key) => key.startsWith(orgId));
const bodies = () =>
  receiver.ledger.map(
    ({ body }) => JSON.parse(body.toString()) as { event: string; timestamp: string; data: Record<string, unknown> },
  );

describe('webhook attempts', () => {
  test('a failed delivery is sent three times in all, waiting 1 s and then 2 s, as the same bytes with the same id [S239, WH32, WH33]', async () => {
    receiver.answer = (response) => void response.writeHead(500).end('no');
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect((await stats(id)).failed).toBe(1));
    expect(receiver.ledger).toHaveLength(3);
    expect(
      new Set(
        receiver.ledger.map(
          ({ body, headers }) =>
            `${body.toString()} ${headers['webhook-id'] as string} ${headers['x-service-signature'] as string}`,
        ),
      ).size,
    ).toBe(1);
    const planned =
      await db.sql`select attempt, status, error from webhook_attempts where webhook_id = ${id} order by attempt`;
    expect(planned).toEqual([1, 2, 3].map((attempt) => ({ attempt, status: 500, error: 'HTTP 500' })));
    const [first, second, third] = receiver.ledger.map(({ at }) => at) as [number, number, number];
    expect([second - first >= 990, third - second >= 1_990]).toEqual([true, true]);
    expect(await stats(id)).toMatchObject({
      total: 1,
      succeeded: 0,
      failed: 1,
      lastStatus: 500,
      lastError: 'HTTP 500',
      lastDeliveredAt: null,
      consecutiveFailures: 1,
    });
    receiver.answer = (response) => void response.writeHead(204).end();
    await published();
    await settles(async () =>
      expect(await stats(id)).toMatchObject({
        total: 2,
        succeeded: 1,
        failed: 1,
        consecutiveFailures: 0,
        lastStatus: 204,
        lastError: null,
        lastDeliveredAt: expect.any(Date),
      }),
    );
  });

  test('those to tell of a post are listed for it, oldest first, and for its organization alone [S117]', async () => {
    receiver.answer = (response) => void response.writeHead(receiver.ledger.length === 1 ? 503 : 200).end();
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    const [first] = await published();
    const [second] = await published();
    await settles(async () => expect(await stats(id)).toMatchObject({ total: 2, succeeded: 2 }));
    const told = async (of: string, postId: string) =>
      (await host.webhooks.attemptsOfPost(of, postId)).map(({ event, attempt, status }) => [event, attempt, status]);
    expect(await told(orgId, first!)).toEqual([
      ['post.published', 1, 503],
      ['post.published', 2, 200],
    ]);
    expect(await told(orgId, second!)).toEqual([['post.published', 1, 200]]);
    expect(await told(newId(), first!)).toEqual([]);
  });

  test('those to tell of a post are found by its deliveries, however many there are of others', async () => {
    const texts: string[] = [];
    const sql = openDatabase({ url: db.url, connections: 1, onStatement: (text) => void texts.push(text) });
    await listAttemptsOfPost(sql, orgId, newId(), 200);
    await sql.end();
    const asked = texts.find((text) => text.includes('webhook_attempts'))!;
    const plan = await db.sql.begin(async (tx) => {
      await tx`set local enable_seqscan = off`; // the tables are small here
      return tx.unsafe<{ 'QUERY PLAN': string }[]>(`explain ${asked}`, [orgId, newId(), 200]);
    });
    const lines = plan.map((line) => line['QUERY PLAN']).join('\n');
    expect(lines).toContain('webhook_deliveries_of_post');
    expect(lines).toContain('webhook_attempts_of_delivery');
  });

  test('a delivery ends with a successful second attempt [WH32]', async () => {
    receiver.answer = (response) => void response.writeHead(receiver.ledger.length === 1 ? 503 : 200).end();
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect(await stats(id)).toMatchObject({ total: 1, succeeded: 1 }));
    expect((await attempts(id)).map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, 503],
      [2, 200],
    ]);
  });

  test('retries wait in their own queue and hold up no later event (W5)', async () => {
    let failed = 0;
    const postponed = gate();
    receiver.answer = (response, { body }) => {
      const first = body.includes(posts[0]!);
      if (first) failed += 1;
      const status = first && failed < 3 ? 500 : 200;
      if (body.includes(posts[1]!)) void postponed.passed.then(() => response.writeHead(status).end());
      else response.writeHead(status).end();
    };
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    const posts: string[] = await Promise.all(Array.from({ length: 4 }, () => rows.post(orgId, channelId)));
    await announce(db.sql, orgId, 'post.published', posts);
    await got(2); // the second post was taken by the statement that wrote the first one's failure down
    await db.sql`
      update webhook_deliveries
      set next_attempt_at = now() + interval '1 hour'
      where webhook_id = ${id} and attempts = 1`; // far enough for any machine
    postponed.open();
    await settles(async () => expect((await stats(id)).succeeded).toBe(3));
    for (const attempt of [1, 2]) {
      await settles(async () =>
        expect(
          await db.sql`
            update webhook_deliveries
            set next_attempt_at = now()
            where webhook_id = ${id} and state = 'pending' and attempts = ${attempt}
            returning id`,
        ).toHaveLength(1),
      );
      await host.webhooks.deliver(`${orgId}:${id}`);
    }
    await settles(async () => expect((await stats(id)).succeeded).toBe(4));
    expect(bodies().map(({ data }) => posts.indexOf(data['postId'] as string))).toEqual([0, 1, 2, 3, 0, 0]);
  });

  test('first attempts start in the order of the events, one at a time (W5)', async () => {
    receiver.answer = (response) => void setTimeout(() => response.writeHead(200).end(), 3);
    await addWebhook(host.webhooks, orgId, hook());
    const posts = await published(25);
    posts.push(...(await published(25)));
    await got(50);
    expect(bodies().map(({ data }) => data['postId'])).toEqual(posts);
    expect(receiver.mostInFlight).toBe(1);
  });

  test('a receiver that hangs delays only itself [WH34]', async () => {
    receiver.answer = (response, { path }) => void (path === '/fast' && response.writeHead(200).end());
    const slow = await addWebhook(host.webhooks, orgId, hook('/slow'));
    const fast = await addWebhook(host.webhooks, orgId, hook('/fast'));
    await published(5);
    await settles(async () => expect((await stats(fast.id)).succeeded).toBe(5));
    await settles(() => expect(receiver.ledger.filter(({ path }) => path === '/slow')).toHaveLength(1));
    expect([(await stats(slow.id)).total, await attempts(slow.id)]).toEqual([0, []]);
  });

  test('a request to a receiver that hangs is aborted after the time of an attempt [WH34]', async () => {
    await hostWithin(400);
    receiver.answer = () => {};
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () =>
      expect((await attempts(id))[0]).toMatchObject({ attempt: 1, status: 0, error: 'timeout' }),
    );
    expect((await attempts(id))[0]!.durationMs).toBeGreaterThanOrEqual(390);
  });

  test('an answer after the time of an attempt is a failed attempt; the delivery goes on under the same id (W6)', async () => {
    await hostWithin(400);
    const late = gate();
    receiver.answer = (response) => void late.passed.then(() => response.writeHead(200).end());
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect(await attempts(id)).toHaveLength(1));
    await hostWithin(20_000); // the second attempt has all the time that it needs
    late.open();
    await host.webhooks.deliver(`${orgId}:${id}`);
    await settles(async () => expect((await stats(id)).succeeded).toBe(1));
    expect((await attempts(id)).map(({ attempt, status, error }) => [attempt, status, error])).toEqual([
      [1, 0, 'timeout'],
      [2, 200, null],
    ]);
    expect(new Set(receiver.ledger.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  test('a receiver that cuts the connection, or is unreachable, is a failed attempt', async () => {
    receiver.answer = (_, __, message) => void message.socket.destroy();
    const cut = await addWebhook(host.webhooks, orgId, hook());
    const away = await addWebhook(host.webhooks, orgId, 'https://hook.test:1/');
    const nameless = await addWebhook(host.webhooks, orgId, 'https://nowhere.test/');
    await published();
    for (const [{ id }, error] of [
      [cut, /No answer/],
      [away, /No connection/],
      [nameless, /No address/],
    ] as const)
      await settles(async () =>
        expect((await attempts(id))[0]).toMatchObject({ status: 0, error: expect.stringMatching(error) }),
      );
  });

  test('an endless answer is read a little and discarded (W3)', async () => {
    receiver.answer = (response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write(Buffer.alloc(10_000)), 1);
      response.once('close', () => clearInterval(timer));
    };
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect((await stats(id)).succeeded).toBe(1));
  });
});

describe('webhook redirects', () => {
  test.each([307, 308])('redirect %i is followed with method, body and signature [S266, OB5]', async (status) => {
    receiver.answer = (response, { path }) =>
      void (path === '/hook'
        ? response.writeHead(status, { location: '/moved' }).end()
        : response.writeHead(200).end());
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect((await stats(id)).succeeded).toBe(1));
    const [first, second] = receiver.ledger;
    expect([
      second!.method,
      second!.path,
      second!.body.equals(first!.body),
      second!.headers['x-service-signature'],
    ]).toEqual(['POST', '/moved', true, first!.headers['x-service-signature']]);
  });

  test.each([301, 302, 303])('redirect %i is a failed attempt with that status [S266]', async (status) => {
    receiver.answer = (response) => void response.writeHead(status, { location: '/moved' }).end();
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect((await attempts(id))[0]).toMatchObject({ status, error: `HTTP ${status}` }));
    expect(receiver.ledger.every(({ path }) => path === '/hook')).toBe(true);
  });

  test.each([
    [5, 200, null],
    [6, 0, 'Too many redirects'],
  ] as const)(
    'a chain of %i redirects is followed up to the limit [S266, OB6, OB8, X2]',
    async (hops, status, error) => {
      receiver.answer = (response, { path }) => {
        const n = Number(path.slice(1));
        response.writeHead(n < hops ? 307 : 200, { location: `/${n + 1}` }).end();
      };
      const { id } = await addWebhook(host.webhooks, orgId, hook('/0'));
      await published();
      await settles(async () => expect((await attempts(id))[0]).toMatchObject({ status, error }));
    },
  );

  test('a redirect to an address that is not public is blocked [OB7] [X2]', async () => {
    receiver.answer = (response) =>
      void response.writeHead(307, { location: 'https://169.254.169.254/latest/meta-data/' }).end();
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect((await attempts(id))[0]).toMatchObject({ status: 0, error: 'Blocked URL' }));
  });
});

describe('webhook hosts', () => {
  test('two hosts that are woken for one webhook send each event once, one at a time', async () => {
    const other = await startHost({ url: db.url, beside: host });
    extra.push(other);
    receiver.answer = (response) => void setTimeout(() => response.writeHead(200).end(), 2);
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    const key = `${orgId}:${id}`;
    const nudges = setInterval(() => void (void other.webhooks.deliver(key), host.webhooks.deliver(key)), 1);
    const posts = await published(40);
    await settles(async () => expect((await stats(id)).succeeded).toBe(40)).finally(() => clearInterval(nudges));
    expect(bodies().map(({ data }) => data['postId'])).toEqual(posts);
    expect(receiver.mostInFlight).toBe(1);
  });

  test('a host that waits while another records a delivery does not send it again [WH12]', async () => {
    const other = await startHost({ url: db.url, beside: host });
    extra.push(other);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    receiver.answer = (response) => void answered.then(() => response.writeHead(200).end());
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await got(1);
    const waiting = (count: number) => settles(async () => expect(await waitingOnLock(db.sql)).toBe(count));
    let round: Promise<void> | undefined;
    await db.sql.begin(async (sql) => {
      await sql`select from webhooks where id = ${id} for update`;
      answer();
      await waiting(1); // the first host writes the delivery down and gives the slot free
      round = other.webhooks.deliver(`${orgId}:${id}`);
      await waiting(2); // the second one looks, and sees the deliveries as they were before
    });
    await round;
    await settles(async () => expect((await stats(id)).succeeded).toBe(1));
    await host.webhooks.drain(5_000);
    expect(receiver.ledger).toHaveLength(1);
  });

  test('deliveries claimed by a dead host are found, and sent again under the same id with the same bytes', async () => {
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect((await stats(id)).succeeded).toBe(1));
    const dead = newId();
    await db.sql`
      insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
      values (${dead}, 'embedded', '', '{}', now() - interval '4 s')`;
    const first = receiver.ledger[0]!;
    await db.sql`
      update webhook_deliveries set state = 'pending', attempts = 0, next_attempt_at = now() where webhook_id = ${id}`;
    await db.sql`
      update webhooks
      set slot_incarnation = ${dead}, slot_delivery_id = (select id from webhook_deliveries where webhook_id = ${id}),
        slot_until = now() + interval '1 hour', due_at = now()
      where id = ${id}`;
    await db.sql.begin(async (tx) => {
      // the clock of the database stands still: its last heartbeat is 4 s old, however long this takes, and it may be
      // at work
      const advance = openAdvance({ incarnation: newId(), leaseMs: 60_000, rotationHours: 24 });
      await tx`update actor_hosts set last_heartbeat = now() - interval '4 s' where incarnation = ${dead}`;
      expect(await overdueWebhooks(tx, 1_000)).not.toContain(`${orgId}:${id}`);
      expect(await advance(tx, { orgId, webhookId: id, settled: undefined, claim: true })).toEqual({ kind: 'held' });
    });
    await db.sql`update actor_hosts set last_heartbeat = now() where incarnation = ${dead}`;
    await host.webhooks.deliver(`${orgId}:${id}`);
    expect(receiver.ledger).toHaveLength(1);
    await db.sql`update actor_hosts set last_heartbeat = now() - interval '6 s' where incarnation = ${dead}`;
    expect(await overdue()).toEqual([`${orgId}:${id}`]);
    await host.webhooks.deliver(`${orgId}:${id}`);
    expect([receiver.ledger[1]!.headers['webhook-id'], receiver.ledger[1]!.body.equals(first.body)]).toEqual([
      first.headers['webhook-id'],
      true,
    ]);
    expect(await overdue()).toEqual([]);
  });

  test('a delivery whose wake-up is lost is found when it is five seconds overdue', async () => {
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await host.webhooks.drain(0); // this host hears of nothing any more
    await published();
    await settles(async () =>
      expect(await db.sql`select from webhook_deliveries where webhook_id = ${id}`).toHaveLength(1),
    );
    expect(await overdue()).toEqual([]);
    await db.sql`update webhooks set due_at = due_at - interval '6 s' where id = ${id}`;
    expect(await overdue()).toEqual([`${orgId}:${id}`]);
    const other = await startHost({ url: db.url, beside: host });
    extra.push(other);
    await other.webhooks.deliver(`${orgId}:${id}`);
    expect(receiver.ledger).toHaveLength(1);
    expect(await db.sql`select slot_incarnation, due_at from webhooks where id = ${id}`).toEqual([
      { slot_incarnation: null, due_at: null },
    ]);
  });

  test('draining ends attempts under way, hands back the rest, and another host goes on', async () => {
    const held: (() => void)[] = [];
    receiver.answer = (response) => void held.push(() => response.writeHead(200).end());
    await host[Symbol.asyncDispose]();
    const slow = await startHost({ url: db.url, timeoutMs: 60_000 });
    extra.push(slow);
    await slow.starts();
    const { id } = await addWebhook(slow.webhooks, orgId, hook());
    const posts = await Promise.all(Array.from({ length: 2 }, () => rows.post(orgId, channelId)));
    await announce(db.sql, orgId, 'post.published', posts);
    await got(1);
    await slow.webhooks.drain(0); // no time at all: the attempt is handed back
    expect(await db.sql`select slot_incarnation, slot_until from webhooks where id = ${id}`).toEqual([
      { slot_incarnation: null, slot_until: null },
    ]);
    expect(await db.sql`select from webhook_attempts where webhook_id = ${id}`).toHaveLength(0);
    receiver.answer = (response) => void response.writeHead(200).end();
    await slow[Symbol.asyncDispose]();
    host = await startHost({ url: db.url });
    await host.starts();
    await host.webhooks.deliver(`${orgId}:${id}`);
    expect(bodies().map(({ data }) => posts.indexOf(data['postId'] as string))).toEqual([0, 0, 1]);
    expect(receiver.ledger[0]!.headers['webhook-id']).toBe(receiver.ledger[1]!.headers['webhook-id']);
  });

  test('draining waits for an attempt that ends in time, and records it', async () => {
    const inTime = gate();
    receiver.answer = (response) => void inTime.passed.then(() => response.writeHead(200).end());
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published(3);
    await got(1);
    const drained = host.webhooks.drain(20_000);
    inTime.open();
    await drained;
    expect([receiver.ledger.length, (await attempts(id)).length]).toEqual([1, 1]);
    expect(await db.sql`select slot_incarnation, due_at is not null as due from webhooks where id = ${id}`).toEqual([
      { slot_incarnation: null, due: true },
    ]);
  });

  test('an attempt is recorded once the database is back, however long that lasts, and is not repeated', async () => {
    const hurried = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 200, signal),
    };
    const slow = await startHost({ url: db.url, beside: host, clock: hurried });
    extra.push(slow);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    receiver.answer = (response) => void answered.then(() => response.writeHead(200).end());
    const { id } = await addWebhook(slow.webhooks, orgId, hook());
    await host.webhooks.drain(0); // what is dealt out is delivered by the other one
    await published();
    await settles(async () =>
      expect(await db.sql`select from webhook_deliveries where webhook_id = ${id}`).toHaveLength(1),
    );
    const round = slow.webhooks.deliver(`${orgId}:${id}`);
    await got(1);
    await setReadOnly(db, true);
    answer();
    await settles(() =>
      expect(
        slow.log.lines.filter(({ message }) => message.startsWith('recording a delivery failed')).length,
      ).toBeGreaterThan(20),
    );
    await setReadOnly(db, false); // cuts connections: what the round does after the attempt may fail, and is made up for
    await Promise.allSettled([round]);
    expect([receiver.ledger.length, (await attempts(id)).map(({ attempt, status }) => [attempt, status])]).toEqual([
      1,
      [[1, 200]],
    ]);
  });

  test('connections cut by the database lose no delivery and no count', async () => {
    const cutting = gate();
    receiver.answer = (response) => {
      const answer = () => void response.writeHead(200).end();
      if (receiver.ledger.length === 5) void cutting.passed.then(answer);
      else setTimeout(answer, 2);
    };
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    // Not one of those that are cut: what the test itself does would fail by it.
    const apart = openDatabase({ url: db.url, connections: 2, applicationName: 'apart' });
    extra.push({ [Symbol.asyncDispose]: () => apart.end({ timeout: 5 }) });
    const posts = await Promise.all(Array.from({ length: 60 }, () => openRows(apart).post(orgId, channelId)));
    await announce(apart, orgId, 'post.published', posts);
    // The driver itself ends the process when a connection is cut while it reads the types, so the youngest are spared.
    const cut = async () => {
      const gone =
        await apart`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'rookery' and backend_start < now() - interval '400 ms'`;
      if (gone.length > 0) cutting.open();
    };
    const cuts = setInterval(() => void cut().catch(() => undefined), 100);
    try {
      await settles(
        async () =>
          expect(
            (
              await apart`select count(*)::int as n from webhook_deliveries where webhook_id = ${id} and state = 'succeeded'`
            )[0]!['n'],
          ).toBe(60),
        40_000,
      );
    } finally {
      clearInterval(cuts);
    }
    await settles(async () => expect((await stats(id)).succeeded).toBe(60));
    await settles(async () => expect((await attempts(id)).length).toBe(60));
    expect(new Set(bodies().map(({ data }) => data['postId']))).toEqual(new Set(posts));
    expect(receiver.mostInFlight).toBe(1);
  });
});
