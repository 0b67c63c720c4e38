import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { importJWK, jwtVerify } from 'jose';
import { newId } from '../../../src/platform/kernel/index.ts';
import { socketConnector } from '../../../src/platform/outbound/pools.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { subscribedBrowser, vapidSettings } from '../../support/wire/push-service.ts';
import { type Answer, testApp } from '../../support/worlds/app.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';

// Pushes to browsers: a server stands where their push services are, and the browser that has subscribed reads them.

interface Sent {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

const HOST = 'push.example.com';
const VAPID = vapidSettings();
const NO_FCM = { FCM_PROJECT_ID: '', FCM_CLIENT_EMAIL: '', FCM_PRIVATE_KEY: '' };
const sent: Sent[] = [];
type Said = { status: number; headers?: Record<string, string> };
let says: (path: string) => Said = () => ({ status: 201 });

let server: Server;
let world: Notified;
let sender: AsyncDisposable | undefined;
type Member = Awaited<ReturnType<Notified['member']>>;
let ann: Member;
let bob: Member;
beforeAll(async () => {
  const { key, cert } = makeCertificate([HOST]);
  server = createServer({ key, cert }, (request, response) => void serve(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const beneath = socketConnector([cert]);
  const { port } = server.address() as AddressInfo;
  world = await notified({
    env: { ...NO_FCM, ...VAPID },
    network: {
      resolver: async () => ['127.0.0.1'],
      connector: (options, callback) => beneath({ ...options, port: String(port) }, callback),
    },
  });
  ann = await world.member('admin');
  bob = await world.member('member');
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
beforeEach(async () => {
  await emptyTables(world.sql, 'notifications', 'notification_windows', 'pushes', 'push_tokens');
  sent.length = 0;
  says = () => ({ status: 201 });
});
afterEach(async () => {
  await sender?.[Symbol.asyncDispose]();
  sender = undefined;
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  sent.push({ path: request.url!, headers: request.headers, body: Buffer.concat(pieces) });
  const { status, headers = {} } = says(request.url!);
  response.writeHead(status, headers).end();
}
const start = () => (sender = world.context.push.startSender({ restMs: 10 }));
const browser = () => subscribedBrowser(`https://${HOST}/send/${newId()}`);
const post = (body: unknown, { client } = ann) => client.post('/notifications/push-tokens', body);
async function subscribed(member = ann) {
  const one = browser();
  expect((await post({ token: one.token, platform: 'web' }, member)).status).toBe(201);
  return one;
}
const waiting = () => world.sql<{ attempts: number; inMs: number }[]>`
  select attempts, extract(epoch from next_attempt_at - now())::float8 * 1000 as "inMs" from pushes`;
const isDone = () => eventually('nothing waits', async () => (await waiting()).length === 0);
const isOn = async () =>
  (await world.sql<{ on: boolean }[]>`select disabled_at is null as on from push_tokens`).map(({ on }) => on);
const alert = () =>
  ({
    orgId: world.orgId,
    topic: 'channel.refresh_needed',
    entityId: newId(),
    payload: { providerId: 'x', name: 'Acme', reason: 'r' },
  }) as const;

describe('GET /notifications/push-key', () => {
  test('answers the public key, and null where nothing is pushed to browsers', async () => {
    expect((await ann.client.get('/notifications/push-key')).body).toEqual({ publicKey: VAPID.VAPID_PUBLIC_KEY });
    await using plain = await testApp({ sql: world.sql });
    const client = plain.client();
    ann.client.cookies.forEach((value, name) => client.cookies.set(name, value));
    expect((await client.get('/notifications/push-key')).body).toEqual({ publicKey: null });
  });

  test.each([
    ['VAPID_PUBLIC_KEY', ''],
    ['VAPID_PRIVATE_KEY', vapidSettings().VAPID_PRIVATE_KEY],
    ['VAPID_SUBJECT', 'somebody'],
  ])('answers null where %s is %j', async (name, value) => {
    await using other = await testApp({ sql: world.sql, env: { ...VAPID, [name]: value } });
    expect(other.context.push.publicKey).toBeUndefined();
    expect(other.context.push.startSender()).toBeUndefined();
  });
});

describe('a subscription of a browser', () => {
  test('is registered once for its endpoint, however its JSON is written [S177]', async () => {
    const one = browser();
    const first = await post({ token: one.token, platform: 'web', deviceName: 'Laptop' });
    expect(first).toMatchObject({ status: 201, body: { token: one.token, platform: 'web', deviceName: 'Laptop' } });
    const { keys, endpoint } = JSON.parse(one.token);
    const again = await post({ token: JSON.stringify({ keys, endpoint }, null, 1), platform: 'web' });
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect(await post({ token: one.token, platform: 'web' }, bob)).toMatchObject({
      status: 409,
      body: { code: 'push_token_taken' },
    });
    const removed = await ann.client.delete('/notifications/push-tokens', {
      token: JSON.stringify({ endpoint, keys }),
    });
    expect([removed.status, await isOn()]).toEqual([200, []]);
  });

  const good = JSON.parse(browser().token);
  const changed = (change: object) => JSON.stringify({ ...good, ...change });
  const offCurve = Buffer.concat([Buffer.from([4]), Buffer.alloc(64, 7)]).toString('base64url');
  test.each([
    ['no JSON', '{', 'token'],
    ['no endpoint', changed({ endpoint: undefined }), 'token'],
    ['plain http', changed({ endpoint: `http://${HOST}/1` }), 'token'],
    ['a long endpoint', changed({ endpoint: `https://${HOST}/${'x'.repeat(2_100)}` }), 'token'],
    ['a private address', changed({ endpoint: 'https://10.0.0.1/send' }), 'token'],
    ['a name and password', changed({ endpoint: `https://a:b@${HOST}/1` }), 'token'],
    ['no keys', changed({ keys: {} }), 'token'],
    ['a key off the curve', changed({ keys: { ...good.keys, p256dh: offCurve } }), 'token'],
    ['a short secret', changed({ keys: { ...good.keys, auth: 'AAAA' } }), 'token'],
  ])('with %s is refused by name', async (_, token, field) => {
    const { status, body }: Answer = await post({ token, platform: 'web' });
    expect([status, body.errors?.[0]?.field]).toEqual([400, field]);
    expect(await isOn()).toEqual([]);
  });

  test('is refused for a telephone', async () => {
    const { status, body } = await post({ token: browser().token, platform: 'ios' });
    expect([status, body.errors[0].field]).toEqual([400, 'platform']);
  });
});

describe('a push to a browser', () => {
  test('is read by it alone, and comes from who has the key', async () => {
    const [one, other] = [await subscribed(), await subscribed()];
    start();
    await world.hear([alert()]);
    await isDone();
    const [first] = sent.filter(({ path }) => one.endpoint.endsWith(path)) as [Sent];
    expect(JSON.parse(one.read(first.body))).toEqual({
      title: 'Acme needs a new login',
      body: 'Its posts wait until somebody connects it again.',
      tag: 'channel_issues',
      data: { category: 'channel_issues', link: expect.stringMatching(/^\/channels\//) },
    });
    expect(() => other.read(first.body)).toThrow('authenticate');
    expect(first.headers).toMatchObject({
      ttl: '3600',
      topic: 'channel_issues',
      urgency: 'normal',
      'content-encoding': 'aes128gcm',
      'content-length': String(first.body.length),
    });
    const [, token, key] = /^vapid t=([^,]+), k=(.+)$/.exec(first.headers['authorization'] as string)!;
    expect(key).toBe(VAPID.VAPID_PUBLIC_KEY);
    const point = Buffer.from(VAPID.VAPID_PUBLIC_KEY, 'base64url');
    const jwk = { kty: 'EC', crv: 'P-256', x: point.toString('base64url', 1, 33), y: point.toString('base64url', 33) };
    const { payload } = await jwtVerify(token!, await importJWK(jwk, 'ES256'), { audience: `https://${HOST}` });
    expect(payload.sub).toBe(VAPID.VAPID_SUBJECT);
    expect(payload.exp! - payload.iat!).toBeLessThanOrEqual(24 * 3_600);
  });

  test('is not queued for a device of Firebase, which is not set here', async () => {
    await world.device(ann);
    await subscribed();
    await world.hear([alert()]);
    expect(await waiting()).toHaveLength(1);
  });

  test('holds the longest texts', async () => {
    const one = await subscribed();
    await world.owner.client.post('/notifications/broadcast', {
      title: '\u{1F600}'.repeat(60),
      content: '\u{1F600}'.repeat(1_000),
      link: `/${'x'.repeat(499)}`,
      target: { type: 'users', userIds: [ann.userId] },
      channels: ['push'],
    });
    start();
    await isDone();
    expect([...JSON.parse(one.read(sent[0]!.body)).body]).toHaveLength(200);
  });

  test.each([404, 410])(
    'deactivates the subscription after %s, until it is registered again [NO31]',
    async (status) => {
      const [gone, other] = [await subscribed(), await subscribed()];
      says = (path) => ({ status: gone.endpoint.endsWith(path) ? status : 201 });
      start();
      await world.hear([alert()]);
      await isDone();
      expect((await isOn()).toSorted()).toEqual([false, true]);
      await world.hear([alert()]);
      await isDone();
      expect(sent.filter(({ path }) => gone.endpoint.endsWith(path))).toHaveLength(1);
      expect(sent.filter(({ path }) => other.endpoint.endsWith(path))).toHaveLength(2);
      await post({ token: gone.token, platform: 'web' });
      expect(await isOn()).toEqual([true, true]);
    },
  );

  test.each([400, 401, 403, 413, 302])('is dropped after %s, and the subscription stays', async (status) => {
    await subscribed();
    says = () => ({ status, headers: status === 302 ? { location: `https://${HOST}/elsewhere` } : {} });
    start();
    await world.hear([alert()]);
    await isDone();
    expect([sent.length, await isOn()]).toEqual([1, [true]]);
  });

  test.each([
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '300' } }, 300_000],
    ['503', { status: 503 }, 60_000],
  ])('waits as told after %s, and is given up after three tries', async (_, said, waits) => {
    await subscribed();
    says = () => said;
    start();
    await world.hear([alert()]);
    const is = async (tries: number, inMs: number) => {
      const [push] = await waiting();
      return sent.length === tries && push !== undefined && Math.abs(push.inMs - inMs) < 20_000;
    };
    await eventually('it waits', () => is(1, waits));
    await world.sql`update pushes set next_attempt_at = now()`;
    await eventually('it waits longer', () => is(2, 600_000));
    await world.sql`update pushes set next_attempt_at = now()`;
    await isDone();
    expect([sent.length, await isOn()]).toEqual([3, [true]]);
  });

  test('to a name that leads to a private address is dropped without a call', async () => {
    await using inside = await testApp({
      sql: world.sql,
      env: VAPID,
      network: { resolver: async () => ['10.0.0.1'] },
    });
    await subscribed();
    await world.hear([alert()]);
    await using _ = inside.context.push.startSender({ restMs: 10 })!;
    await isDone();
    expect([sent.length, await isOn()]).toEqual([0, [true]]);
  });
});
