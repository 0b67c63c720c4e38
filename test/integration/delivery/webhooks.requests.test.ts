import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { append, type Topic } from '../../../src/platform/outbox/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import {
  addWebhook,
  announce,
  openRows,
  SIGNING_KEY,
  startHost,
  tls,
} from '../../support/worlds/publishing/webhooks.ts';

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
const hook = (path = '/hook') => `https://hook.test:${receiver.port}${path}`;
const published = async (count = 1, more: Parameters<typeof rows.post>[2] = {}, channel = channelId) => {
  const posts = await Promise.all(Array.from({ length: count }, () => rows.post(orgId, channel, more)));
  await announce(db.sql, orgId, 'post.published', posts);
  return posts;
};
const got = (count: number) => settles(() => expect(receiver.ledger.length).toBeGreaterThanOrEqual(count));
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

  const verify = ({ headers, body }: Receiver['ledger'][0], key: string) => {
    const told = `${headers['webhook-id'] as string}.${headers['webhook-timestamp'] as string}.`;
    return `v1,${openssl(Buffer.concat([Buffer.from(told), body]), Buffer.from(key.slice(6), 'base64'), 'base64')}`;
  };

  test('a webhook with a secret of its own is signed by it as well, and by the one before for a day [WH25]', async () => {
    const { id, secret } = await addWebhook(host.webhooks, orgId, hook(), { secret: true });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    await published();
    await got(1);
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

  test('a secret that was rotated twice, as the answer was lost, still signs for a day since the first time', async () => {
    const { id, secret } = await addWebhook(host.webhooks, orgId, hook(), { secret: true });
    const rotate = async () => {
      const body = { name: 'Hook', url: hook(), integrations: [], rotateSecret: true };
      const { change, secret: next } = await host.webhooks.prepareChange(orgId, id, body);
      await host.webhooks.change(orgId, change);
      return next!;
    };
    const signed = async (n: number) => {
      await published();
      await got(n);
      return receiver.ledger[n - 1]!;
    };
    const expected = (delivery: Receiver['ledger'][0], keys: string[]) =>
      keys.map((key) => verify(delivery, key)).join(' ');
    const [lost, second] = [await rotate(), await rotate()];
    const first = await signed(1);
    expect(first.headers['webhook-signature']).toBe(expected(first, [second, lost, secret!]));
    const third = await rotate();
    const next = await signed(2);
    expect(next.headers['webhook-signature']).toBe(expected(next, [third, second, secret!]));
    await db.sql`update webhooks set older_secret_until = now() - interval '1 second' where id = ${id}`;
    const last = await signed(3);
    expect(last.headers['webhook-signature']).toBe(expected(last, [third, second]));
    await db.sql`update webhooks set secret_rotated_at = now() - interval '24 hours 1 second' where id = ${id}`;
    const fourth = await rotate();
    const anew = await signed(4);
    expect(anew.headers['webhook-signature']).toBe(expected(anew, [fourth, third]));
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

  test('an item of a thread that is given up, or that nobody can account for, is told as itself', async () => {
    await addWebhook(host.webhooks, orgId, hook(), {
      events: ['post.published', 'post.retrying', 'post.failed', 'post.unconfirmed'],
    });
    const [root] = await published();
    const item = await rows.post(orgId, channelId, { root: root! });
    const failure = { errorKind: 'network', error: 'No answer' };
    const retry = { attempt: 1, nextAttemptAt: '2026-09-01T10:00:31.000Z' };
    await announce(db.sql, orgId, 'post.retrying', [item], { ...failure, ...retry });
    await announce(db.sql, orgId, 'post.failed', [item], { ...failure, detail: null, attempts: 2, retryable: true });
    await announce(db.sql, orgId, 'post.unconfirmed', [item], { state: 'ERROR', detail: 'unconfirmed', error: 'Lost' });
    await got(3);
    expect(bodies().map(({ event, data }) => [event, data['postId'], data['group']])).toEqual([
      ['post.published', root, undefined],
      ['post.failed', item, 'g_1'],
      ['post.unconfirmed', item, 'g_1'],
    ]);
  });

  test('facts that are no events reach no webhook', async () => {
    await addWebhook(host.webhooks, orgId, hook());
    await append(db.sql, [
      {
        orgId,
        topic: 'webhook.failing',
        entityId: newId(),
        payload: { name: 'Hook', failures: 20, lastStatus: 0, lastError: null },
      },
    ]);
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
    ['post.scheduled', {}, base, { state: 'QUEUE', detail: 'scheduled' }], // of an older release
    ['post.scheduled', { detail: 'paused' }, base, { state: 'QUEUE', detail: 'paused' }],
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
      'post.retrying',
      {
        errorKind: 'unconfirmed',
        error: 'Not on the network',
        detail: 'unconfirmed',
        attempt: 1,
        nextAttemptAt: '2026-09-01T10:00:31.020Z',
      },
      [...base, 'errorKind', 'error', 'attempt', 'nextAttemptAt'],
      { state: 'QUEUE', detail: 'unconfirmed', errorKind: 'unconfirmed' },
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
      'post.missed',
      { state: 'ERROR', detail: 'missed', policy: 'ask' },
      [...base, 'policy'],
      { state: 'ERROR', detail: 'missed', publishDate: '2026-09-01T10:00:00.000Z', policy: 'ask' },
    ],
    [
      'post.deleted',
      { state: 'QUEUE', detail: 'scheduled' },
      base,
      { state: 'QUEUE', detail: 'scheduled', publishDate: '2026-09-01T10:00:00.000Z', group: 'g_1' },
    ],
    [
      'first_comment.posted',
      { error: null },
      [...base, 'error'],
      { state: 'PUBLISHED', detail: null, publishDate: '2026-09-01T10:00:00.000Z', group: 'g_1', error: null },
    ],
    [
      'first_comment.failed',
      { error: 'No comments here' },
      [...base, 'error'],
      { state: 'PUBLISHED', detail: null, error: 'No comments here' },
    ],
  ];
  test.each(cases)('%s reaches only webhooks that name it, with its facts', async (event, payload, keys, data) => {
    await addWebhook(host.webhooks, orgId, hook('/standard'));
    await addWebhook(host.webhooks, orgId, hook('/chosen'), { events: [event] });
    const postId = await rows.post(orgId, channelId);
    await announce(db.sql, orgId, event, [postId], payload);
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
    await got(1);
    expect(bodies()[0]!.data).toEqual({
      integrationId: channelId,
      providerIdentifier: 'x',
      integrationName: 'Acme on X',
      reason,
    });
  });
});
