import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { openAdvance } from '../../../src/delivery/webhooks/advance.ts';
import { overdueWebhooks } from '../../../src/delivery/webhooks/store.ts';
import type { Topic } from '../../../src/platform/outbox/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { gate } from '../../support/wire/eventually.ts';
import { setReadOnly } from '../../support/processes/read-only.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { addWebhook, announce, openRows, SIGNING_KEY, startHost, tls } from '../../support/worlds/webhook-world.ts';

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
  await host.look();
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
/** HMAC-SHA256 by another program than ours. */
const openssl = (data: Buffer, key: Buffer, form: 'hex' | 'base64') =>
  Buffer.from(
    execFileSync(
      'openssl',
      ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key.toString('hex')}`, '-binary'],
      { input: data },
    ),
  ).toString(form);

describe('webhook request', () => {
  test('post.published is posted once to the URL, with the envelope, keys and order of the specification [WH11] [WH12] [WH13] [WH14]', async () => {
    await addWebhook(host.webhooks, orgId, hook('/a?b=c'));
    const [postId] = await published(1, { content: '<p>Grüße "☃" \\ \n</p>' });
    await got(1);
    const [{ method, path, body, headers }] = receiver.ledger as [Receiver['ledger'][0]];
    expect([method, path, headers['content-type'], headers['user-agent']]).toEqual([
      'POST',
      '/a?b=c',
      'application/json',
      'service-webhooks/1',
    ]);
    const { timestamp } = JSON.parse(body.toString()) as { timestamp: string };
    expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.toString()).toBe(
      `{"event":"post.published","timestamp":"${timestamp}","data":{"postId":"${postId}","integrationId":"${channelId}","providerIdentifier":"x","integrationName":"Acme on X","content":"<p>Grüße \\"☃\\" \\\\ \\n</p>","url":"https://x.com/acme/status/1","state":"PUBLISHED","publishDate":"2026-09-01T10:00:00.000Z"}}`,
    );
    expect(Number(headers['content-length'])).toBe(body.length);
    expect(Object.keys(headers).toSorted()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'webhook-id',
      'webhook-timestamp',
      'x-service-signature',
    ]);
  });

  test('the timestamp is that of the event, and a network without an address gives an empty url [WH13] [WH14]', async () => {
    await addWebhook(host.webhooks, orgId, hook());
    const postId = await rows.post(orgId, channelId, { url: null });
    await db.sql.begin(async (tx) => {
      await announce(tx, orgId, 'post.published', [postId]);
      await tx`update outbox set created_at = '2026-09-01T10:00:01.4124Z' where entity_id = ${postId}`;
    });
    await host.look();
    await got(1);
    expect([bodies()[0]!.timestamp, bodies()[0]!.data['url']]).toEqual(['2026-09-01T10:00:01.412Z', '']);
  });

  test('the signature is an HMAC-SHA256 of the raw bytes with the key of the deployment, as another program computes it [WH25] [WH26] [WH27]', async () => {
    await addWebhook(host.webhooks, orgId, hook('/one'));
    await addWebhook(host.webhooks, orgId, hook('/two'));
    await published(2, { content: '<p>Zażółć gęślą jaźń 🐦</p>' });
    await got(4);
    for (const { body, headers } of receiver.ledger)
      expect(headers['x-service-signature']).toBe(`sha256=${openssl(body, Buffer.from(SIGNING_KEY), 'hex')}`);
  });

  test('a webhook with a secret of its own is signed by it as well, and by the one before for a day [WH25]', async () => {
    const { id, secret } = await addWebhook(host.webhooks, orgId, hook(), { secret: true });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await published();
    await got(1);
    const verify = ({ headers, body }: Receiver['ledger'][0], key: string) =>
      `v1,${openssl(Buffer.concat([Buffer.from(`${headers['webhook-id'] as string}.${headers['webhook-timestamp'] as string}.`), body]), Buffer.from(key.slice(6), 'base64'), 'base64')}`;
    expect(receiver.ledger[0]!.headers['webhook-signature']).toBe(verify(receiver.ledger[0]!, secret!));
    const { change, secret: next } = await host.webhooks.prepareChange(orgId, id, {
      name: 'Hook',
      url: hook(),
      integrations: [],
      rotateSecret: true,
    });
    await host.webhooks.change(orgId, change);
    await host.webhooks.change(orgId, change); // repeated by an engine: no second rotation
    await published();
    await got(2);
    expect(receiver.ledger[1]!.headers['webhook-signature']).toBe(
      `${verify(receiver.ledger[1]!, next!)} ${verify(receiver.ledger[1]!, secret!)}`,
    );
    await db.sql`update webhooks set secret_rotated_at = now() - interval '24 hours 1 second' where id = ${id}`;
    await published();
    await got(3);
    expect(receiver.ledger[2]!.headers['webhook-signature']).toBe(verify(receiver.ledger[2]!, next!));
    const stored = JSON.stringify(await db.sql`select * from webhooks where id = ${id}`);
    expect([stored.includes(secret!.slice(6)), stored.includes(next!.slice(6))]).toEqual([false, false]);
  });

  test('webhook-seq counts the events of a webhook that chose its events', async () => {
    await addWebhook(host.webhooks, orgId, hook('/plain'));
    await addWebhook(host.webhooks, orgId, hook('/chosen'), { events: ['post.published'] });
    await published(2);
    await got(4);
    const seqs = (path: string) =>
      receiver.ledger.filter((one) => one.path === path).map(({ headers }) => headers['webhook-seq']);
    expect([seqs('/plain'), seqs('/chosen')]).toEqual([
      [undefined, undefined],
      ['1', '2'],
    ]);
  });
});

describe('webhook recipients', () => {
  test('an event reaches webhooks of its org without a channel list, and those whose list has the channel [WH22] [WH23] [WH10]', async () => {
    const other = await rows.channel(orgId, 'Other');
    const [foreign, gone] = [await rows.org(), await addWebhook(host.webhooks, orgId, hook('/gone'))];
    await addWebhook(host.webhooks, orgId, hook('/all'));
    await addWebhook(host.webhooks, orgId, hook('/mine'), { integrations: [{ id: channelId }] });
    await addWebhook(host.webhooks, orgId, hook('/both'), { integrations: [{ id: other }, { id: channelId }] });
    await addWebhook(host.webhooks, orgId, hook('/other'), { integrations: [{ id: other }] });
    await addWebhook(host.webhooks, orgId, hook('/chose-another'), { events: ['channel.deleted'] });
    await addWebhook(host.webhooks, foreign, hook('/foreign'));
    await host.webhooks.remove(orgId, gone.id);
    await published();
    await got(3);
    await published();
    await got(6);
    expect(receiver.ledger.map(({ path }) => path).toSorted()).toEqual([
      '/all',
      '/all',
      '/both',
      '/both',
      '/mine',
      '/mine',
    ]);
  });

  test('a thread gives one event, for its root; a post of another org gives none', async () => {
    await addWebhook(host.webhooks, orgId, hook());
    const foreign = await rows.org();
    const foreignPost = await rows.post(foreign, await rows.channel(foreign));
    const [root] = await published();
    const item = await rows.post(orgId, channelId, { root: root! });
    await announce(db.sql, orgId, 'post.published', [item]);
    await announce(db.sql, foreign, 'post.published', [foreignPost]);
    const [last] = await published();
    await got(2);
    expect(bodies().map(({ data }) => data['postId'])).toEqual([root, last]);
  });

  test('facts that are no events reach no webhook', async () => {
    await addWebhook(host.webhooks, orgId, hook());
    await announce(db.sql, orgId, 'post.resumed', [await rows.post(orgId, channelId)]);
    await published();
    await got(1);
    await settles(async () => expect(await db.sql`select from outbox`).toHaveLength(0));
    expect(bodies().map(({ event }) => event)).toEqual(['post.published']);
  });
});

describe('opt-in events', () => {
  const base = [
    'postId',
    'integrationId',
    'providerIdentifier',
    'integrationName',
    'content',
    'state',
    'detail',
    'publishDate',
    'group',
  ];
  const cases: [Topic, object, string[], object][] = [
    ['post.scheduled', {}, base, { state: 'QUEUE', detail: 'scheduled' }],
    [
      'post.failed',
      {
        errorKind: 'validation',
        error: 'Text is longer than 280 characters',
        detail: null,
        attempts: 1,
        retryable: false,
      },
      [...base, 'errorKind', 'error', 'attempts', 'retryable'],
      { state: 'ERROR', detail: null, errorKind: 'validation', attempts: 1, retryable: false },
    ],
    [
      'post.retrying',
      { errorKind: 'unavailable', error: 'HTTP 503', attempt: 2, nextAttemptAt: '2026-09-01T10:00:31.020Z' },
      [...base, 'errorKind', 'error', 'attempt', 'nextAttemptAt'],
      { detail: 'retrying', attempt: 2, nextAttemptAt: '2026-09-01T10:00:31.020Z' },
    ],
    [
      'post.late',
      { latenessMs: 61_000 },
      [...base, 'url', 'latenessMs'],
      { state: 'PUBLISHED', url: 'https://x.com/acme/status/1', latenessMs: 61_000 },
    ],
    [
      'post.unconfirmed',
      { error: 'no answer', state: 'QUEUE', detail: 'unconfirmed' },
      [...base, 'error'],
      { state: 'QUEUE', detail: 'unconfirmed', error: 'no answer' },
    ],
    [
      'post.deleted',
      { state: 'QUEUE', detail: 'scheduled' },
      base,
      { state: 'QUEUE', detail: 'scheduled', publishDate: '2026-09-01T10:00:00.000Z', group: 'g_1' },
    ],
  ];
  test.each(cases)('%s reaches only webhooks that name it, with its facts', async (event, payload, keys, data) => {
    await addWebhook(host.webhooks, orgId, hook('/standard'));
    await addWebhook(host.webhooks, orgId, hook('/chosen'), { events: [event] });
    const postId = await rows.post(orgId, channelId);
    await announce(db.sql, orgId, event, [postId], payload);
    await host.look();
    await got(1);
    const [body] = bodies();
    expect([body!.event, Object.keys(body!.data)]).toEqual([event, keys]);
    expect(body!.data).toMatchObject({ postId, ...data });
    expect(receiver.ledger[0]!.headers['x-service-signature']).toMatch(/^sha256=[0-9a-f]{64}$/);
    await published();
    await got(2);
    expect(receiver.ledger.map(({ path }) => path)).toEqual(['/chosen', '/standard']);
  });

  test.each<[Topic, string | null]>([
    ['channel.connected', null],
    ['channel.refresh_needed', 'The login was revoked'],
    ['channel.disabled', 'plan'],
    ['channel.deleted', 'person'],
  ])('%s names the channel and the reason', async (event, reason) => {
    await addWebhook(host.webhooks, orgId, hook(), { events: [event], integrations: [{ id: channelId }] });
    await announce(
      db.sql,
      orgId,
      event,
      [await rows.channel(orgId, 'Other'), channelId],
      reason === null ? {} : { reason },
    );
    await host.look();
    await got(1);
    expect(bodies()[0]!.data).toEqual({
      integrationId: channelId,
      providerIdentifier: 'x',
      integrationName: 'Acme on X',
      reason,
    });
  });
});

describe('webhook attempts', () => {
  test('a failed delivery is sent three times in all, waiting 1 s and then 2 s, as the same bytes with the same id [WH32] [WH33]', async () => {
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
    await host.look();
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
  test.each([307, 308])('redirect %i is followed with method, body and signature (W3) [OB5]', async (status) => {
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

  test.each([301, 302, 303])('redirect %i is a failed attempt with that status (W3)', async (status) => {
    receiver.answer = (response) => void response.writeHead(status, { location: '/moved' }).end();
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await published();
    await settles(async () => expect((await attempts(id))[0]).toMatchObject({ status, error: `HTTP ${status}` }));
    expect(receiver.ledger.every(({ path }) => path === '/hook')).toBe(true);
  });

  test.each([
    [5, 200, null],
    [6, 0, 'Too many redirects'],
  ] as const)('a chain of %i redirects is followed up to the limit [OB6] [OB8] [X2]', async (hops, status, error) => {
    receiver.answer = (response, { path }) => {
      const n = Number(path.slice(1));
      response.writeHead(n < hops ? 307 : 200, { location: `/${n + 1}` }).end();
    };
    const { id } = await addWebhook(host.webhooks, orgId, hook('/0'));
    await published();
    await settles(async () => expect((await attempts(id))[0]).toMatchObject({ status, error }));
  });

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
    const waiting = (count: number) =>
      settles(async () =>
        expect(
          await db.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        ).toHaveLength(count),
      );
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
    await slow.look();
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
    await setReadOnly(db, false);
    await round;
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
    await host.look();
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
