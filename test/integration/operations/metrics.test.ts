import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openMetrics, startMetricsListener } from '../../../src/platform/telemetry/index.ts';
import { Client, type SignedUp, testApp } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';

const TOKEN = 'a token for the scraper';
let product: Product;
let receiver: Receiver;
let ann: SignedUp;
beforeAll(async () => {
  receiver = await startReceiver();
  product = await wholeProduct({ sandbox: true, env: { METRICS_TOKEN: TOKEN } });
  ann = await product.signUp();
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const stranger = () => new Client(product.address);
/** One series by its name and labels as they are told; NaN where there is none. */
const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length + 1),
  );

describe('access to metrics', () => {
  test('is granted to a local caller; behind a proxy only with the token', async () => {
    const { status, headers, text } = await stranger().get('/metrics');
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
      'no-store',
    ]);
    expect(text).toMatch(/^# HELP rookery_/m);
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']) {
      const forwarded = { [name]: '198.51.100.1' };
      expect([name, (await stranger().get('/metrics', forwarded)).status]).toEqual([name, 404]);
      for (const authorization of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`])
        expect((await stranger().get('/metrics', { ...forwarded, authorization })).status).toBe(200);
      for (const authorization of [
        TOKEN,
        'Bearer',
        `Bearer ${TOKEN} `.slice(0, -2),
        `Bearer ${TOKEN}x`,
        `Basic ${TOKEN}`,
      ])
        expect((await stranger().get('/metrics', { ...forwarded, authorization })).status).toBe(404);
    }
  });
  test('answers a refusal like a path that does not exist, to every caller', async () => {
    const told = async (path: string) => {
      const { status, headers, text } = await ann.client.get(path, { 'x-forwarded-for': '198.51.100.1' });
      return { status, type: headers.get('content-type'), text: text.replaceAll(path, '<path>') };
    };
    const refused = await told('/metrics');
    expect(refused).toEqual(await told('/metricz'));
    expect(refused).toMatchObject({ status: 404, text: expect.stringContaining('<path>') });
  });
  test('is refused to remote callers where no token is set', async () => {
    await using plain = await wholeProduct();
    const forwarded = { 'x-forwarded-for': '198.51.100.1' };
    const client = new Client(plain.address);
    for (const authorization of ['Bearer ', 'Bearer undefined', undefined])
      expect((await client.get('/metrics', { ...forwarded, authorization })).status).toBe(404);
    expect((await client.get('/metrics')).status).toBe(200);
  });
  test('needs the token in production, even from a local caller', async () => {
    const urls = { FRONTEND_URL: 'https://app.example.com', NEXT_PUBLIC_BACKEND_URL: 'https://app.example.com/api' };
    for (const token of [undefined, TOKEN]) {
      await using app = await testApp({
        sql: product.db.sql,
        env: { NODE_ENV: 'production', ...urls, ...(token && { METRICS_TOKEN: token }) },
      });
      expect((await app.client().get('/metrics')).status).toBe(404);
      expect((await app.client().get('/metrics', { authorization: `Bearer ${TOKEN}` })).status).toBe(token ? 200 : 404);
    }
  });
  test('has a port of its own in a process without the API, by token for remote callers, and no other routes', async () => {
    const here = { host: '127.0.0.1', token: undefined };
    const metrics = openMetrics({ processMetrics: false });
    metrics.gauge('there', 'There.', () => 3);
    await using listener = await startMetricsListener(metrics, { ...here, port: 0 });
    const answer = await fetch(listener.url);
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      metrics.contentType,
      expect.stringContaining('rookery_there 3'),
    ]);
    expect(listener.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await fetch(listener.url, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${listener.url}/more`)).status).toBe(404);
    expect((await fetch(listener.url, { headers: { 'x-forwarded-for': '198.51.100.1' } })).status).toBe(404);
    await using guarded = await startMetricsListener(metrics, { ...here, port: 0, token: TOKEN });
    const elsewhere = async (headers: object) =>
      (await fetch(guarded.url, { headers: { 'x-forwarded-for': '198.51.100.1', ...headers } })).status;
    expect([await elsewhere({}), await elsewhere({ authorization: 'Bearer wrong' })]).toEqual([404, 404]);
    expect(await elsewhere({ authorization: `Bearer ${TOKEN}` })).toBe(200);
    expect(await elsewhere({ authorization: TOKEN })).toBe(404);
    await expect(
      startMetricsListener(metrics, { ...here, port: Number(new URL(listener.url).port) }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('metric values', () => {
  let text: string;
  let secrets: string[];
  beforeAll(async () => {
    const key = await ann.withKey();
    const refused = await stranger().post('/auth/login', {
      provider: 'LOCAL',
      email: ann.email,
      password: 'wrong password',
    });
    const channel = await ann.client.post('/integrations/social-connect/sandbox', {
      fields: { name: 'Numbers' },
      allowPreview: true,
    });
    const hook = await ann.client.post('/webhooks', {
      name: 'Hook',
      url: `${receiver.url}/hook-of-ann`,
      integrations: [],
    });
    const create = (content: string, settings: object = {}) =>
      key.post('/public/v1/posts', {
        type: 'now',
        date: new Date().toISOString(),
        shortLink: false,
        tags: [],
        posts: [{ integration: { id: channel.body.id }, value: [{ content, image: [] }], settings }],
      });
    const posts = [
      await create('The main job'),
      await create('Refused by the network', { outcome: 'rate_limited', retryAfterSeconds: 3_600 }),
    ];
    expect([refused.status, channel.status, hook.status, ...posts.map(({ status }) => status)]).toEqual([
      400, 200, 201, 201, 201,
    ]);
    await eventually('the webhook is told', () => receiver.ledger.length > 0);
    await eventually('the numbers say so', async () => {
      ({ text } = await stranger().get('/metrics'));
      return (
        valueOf(text, 'rookery_webhook_attempts_total{event="post.published",outcome="delivered"}') === 1 &&
        valueOf(text, 'rookery_publishes_total{provider="sandbox",outcome="rate_limited"}') === 1 &&
        valueOf(text, 'rookery_outbox_waiting') === 0 && // the relay looks four times a second
        valueOf(text, 'rookery_provider_calls{state="under_way"}') === 0
      );
    });
    secrets = [
      ann.email,
      ann.userId,
      ann.orgId,
      key.key,
      channel.body.id,
      hook.body.id,
      ...posts.map(({ body }) => body[0].postId),
      'main job',
      'Numbers',
      'hook-of-ann',
      product.context.incarnation,
    ];
  }, 60_000);

  test.each([
    ['rookery_publishes_total{provider="sandbox",outcome="published"}', 1],
    ['rookery_publish_seconds_count{provider="sandbox"}', 2],
    ['rookery_post_lateness_seconds_count', 2],
    ['rookery_events_total{event="user.registered"}', 1],
    ['rookery_events_total{event="login.refused"}', 1],
    ['rookery_events_total{event="api-key.created"}', 1],
    ['rookery_events_total{event="channel.connected"}', 1],
    ['rookery_events_total{event="post.created"}', 2],
    ['rookery_http_requests_total{method="POST",route="/public/v1/posts",status="201"}', 2],
    ['rookery_provider_calls{state="under_way"}', 0],
    ['rookery_outbox_waiting', 0],
    ['rookery_cache_away', 0],
    ['rookery_failed_turns_total', 0],
  ])('%s has the value %p', (series, value) => expect(valueOf(text, series)).toBe(value));

  test.each([
    'rookery_turns_total',
    'rookery_actor_calls_total',
    'rookery_actor_batches_total',
    'rookery_actors_active{type="Organization"}',
    'rookery_process_resident_memory_bytes',
  ])('%s increases', (series) => expect(valueOf(text, series)).toBeGreaterThan(0));

  test('database connections and finds of the reconciler are reported', async () => {
    expect(text).toMatch(/^rookery_database_connections\{state="(active|idle)"\} [1-9]/m);
    await eventually('a sweep was counted', async () =>
      /^rookery_reconciler_found_total\{kind="woken"\} \d/m.test((await stranger().get('/metrics')).text),
    );
  });

  test('no label contains an id, an address or a user text', () => {
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}|@|https?:\/\//);
    const labels = [...text.matchAll(/(\w+)="([^"]*)"/g)].filter(([, name]) => name !== 'le' && name !== 'version');
    for (const [, , value] of labels) expect(value!.length).toBeLessThanOrEqual(60);
  });
});
