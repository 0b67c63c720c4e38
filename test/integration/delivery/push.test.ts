import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createPublicKey, createVerify, generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { claimDuePushes, disableDevice, NO_OWNER } from '../../../src/delivery/push/store.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { socketConnector } from '../../../src/platform/outbound/pools.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Answer, testApp } from '../../support/worlds/app.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';

// Devices of people, and pushes on the wire: a server stands where Google's are.

interface Asked {
  host: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}
type Said = { status: number; body?: object; headers?: Record<string, string> };

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const HOSTS = ['oauth2.googleapis.com', 'fcm.googleapis.com'];
const FCM = {
  FCM_PROJECT_ID: 'my-project',
  FCM_CLIENT_EMAIL: 'push@my-project.iam.gserviceaccount.com',
  FCM_PRIVATE_KEY: PEM.replaceAll('\n', '\\n'),
};
const asked: Asked[] = [];
let says: (message: { token: string }) => Said = () => ({
  status: 200,
  body: { name: 'projects/my-project/messages/1' },
});

let server: Server;
let world: Notified;
let sender: AsyncDisposable | undefined;
type Member = Awaited<ReturnType<Notified['member']>>;
let ann: Member;
let bob: Member;
beforeAll(async () => {
  const { key, cert } = makeCertificate(HOSTS);
  server = createServer({ key, cert }, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => serve(request, response, text));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const beneath = socketConnector([cert]);
  const { port } = server.address() as AddressInfo;
  world = await notified({
    env: FCM,
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
  asked.length = 0;
  says = () => ({ status: 200, body: { name: 'projects/my-project/messages/1' } });
});
afterEach(async () => {
  await sender?.[Symbol.asyncDispose]();
  sender = undefined;
});

/** What stands where Google is. */
function serve({ headers: sentHeaders, url }: IncomingMessage, response: ServerResponse, text: string): void {
  const one = {
    host: sentHeaders.host!,
    path: url!,
    headers: sentHeaders,
    body: text,
  };
  asked.push(one);
  const {
    status,
    body = {},
    headers = {},
  } = one.host === HOSTS[0]
    ? { status: 200, body: { access_token: 'ya29.secret', expires_in: 3_600 } }
    : says(JSON.parse(one.body).message);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const start = () => (sender = world.context.push.startSender({ restMs: 10 }));
const sent = () => asked.filter(({ host }) => host === HOSTS[1]);
const waiting = () => world.sql<{ attempts: number; inMs: number }[]>`
  select attempts, extract(epoch from next_attempt_at - now())::float8 * 1000 as "inMs" from pushes`;
const isDone = () => eventually('nothing waits', async () => (await waiting()).length === 0);
const alert = (spent = 8_000_000) =>
  ({
    orgId: world.orgId,
    topic: 'channel.refresh_needed',
    entityId: newId(),
    payload: { providerId: 'x', name: `Acme ${spent}`, reason: 'r' },
  }) as const;
const devices = () => world.sql<{ token: string; off: boolean }[]>`
  select token, disabled_at is not null as off from push_tokens order by registered_at, id`;
const refusal = (errorCode: string, status: string, more: object = {}) => ({
  error: {
    code: 404,
    message: 'no',
    status,
    details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }],
    ...more,
  },
});

describe('POST /notifications/push-tokens', () => {
  const post = (body: unknown, { client } = ann) => client.post('/notifications/push-tokens', body);

  test('registers a device, and again for the same user [NO7, S177]', async () => {
    const token = newId();
    const first = await post({ token, platform: 'ios', deviceName: 'Phone' });
    expect([first.status, first.body]).toEqual([
      201,
      { id: expect.any(String), token, platform: 'ios', deviceName: 'Phone' },
    ]);
    const again = await post({ token, platform: 'android' });
    expect([again.status, again.body]).toEqual([
      201,
      { id: first.body.id, token, platform: 'android', deviceName: null },
    ]);
  });

  test('answers 409 for the device of another user, until that one logs out [NO1, S177, S237]', async () => {
    const eve = await world.member('member');
    const token = await world.device(eve);
    expect(await post({ token, platform: 'android' })).toMatchObject({
      status: 409,
      body: { code: 'push_token_taken' },
    });
    expect((await eve.client.post('/user/logout')).status).toBe(200);
    expect((await post({ token, platform: 'android' })).status).toBe(201);
  });

  test('keeps the newest twenty devices of a user, also of many at once', async () => {
    const tokens = Array.from({ length: 24 }, () => newId());
    for (const token of tokens.slice(0, 16)) await world.device(ann, token);
    await Promise.all(tokens.slice(16).map((token) => world.device(ann, token)));
    const left = (await devices()).map(({ token }) => token);
    expect(left).toHaveLength(20);
    expect(left).not.toContain(tokens[0]);
    expect(left).toEqual(expect.arrayContaining(tokens.slice(16)));
  });

  test('DELETE removes one of the caller and nobody else’s [S177]', async () => {
    const [own, other] = [await world.device(ann), await world.device(bob)];
    for (const token of [own, other, 'unknown'])
      expect(await ann.client.delete('/notifications/push-tokens', { token })).toMatchObject({
        status: 200,
        body: { success: true },
      });
    expect((await devices()).map(({ token }) => token)).toEqual([other]);
  });

  test.each([
    [{ platform: 'ios' }, 'token'],
    [{ token: '', platform: 'ios' }, 'token'],
    [{ token: 7, platform: 'ios' }, 'token'],
    [{ token: 'x'.repeat(4_097), platform: 'ios' }, 'token'],
    [{ token: '{"endpoint":"https://push.example/1"}', platform: 'web' }, 'token'],
    [{ token: 'x' }, 'platform'],
    [{ token: 'x', platform: 'symbian' }, 'platform'],
    [{ token: 'x', platform: 'ios', deviceName: 'x'.repeat(201) }, 'deviceName'],
    [{ token: 'x', platform: 'ios', userId: newId() }, 'userId'],
  ])('refuses %j by name', async (body, field) => {
    const { status, body: answer }: Answer = await post(body);
    expect([status, answer.errors?.[0]?.field]).toEqual([400, field]);
    expect(await devices()).toEqual([]);
  });
});

describe('a push', () => {
  test('is posted to the project with a token of the service account, and shows what happened', async () => {
    const token = await world.device(ann);
    start();
    await world.hear([alert()]);
    await isDone();
    const [login, message] = asked as [Asked, Asked];
    expect([login.host, login.path]).toEqual([HOSTS[0], '/token']);
    const form = new URLSearchParams(login.body);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const [head, claims, signature] = form.get('assertion')!.split('.') as [string, string, string];
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      iss: FCM.FCM_CLIENT_EMAIL,
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      aud: 'https://oauth2.googleapis.com/token',
    });
    const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
    expect(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(key, signature, 'base64url')).toBe(true);
    expect([message.host, message.path]).toEqual([HOSTS[1], '/v1/projects/my-project/messages:send']);
    expect(message.headers['authorization']).toBe('Bearer ya29.secret');
    expect(JSON.parse(message.body)).toEqual({
      message: {
        token,
        notification: {
          title: 'Acme 8000000 needs a new login',
          body: 'Its posts wait until somebody connects it again.',
        },
        data: { category: 'channel_issues', link: expect.stringMatching(/^\/channels\//) },
        android: { collapse_key: 'channel_issues' },
      },
    });
  });

  test('has at most 200 characters of each text', async () => {
    await world.device(ann);
    await world.owner.client.post('/notifications/broadcast', {
      title: 'Hi',
      content: '\u{1F600}'.repeat(500),
      target: { type: 'users', userIds: [ann.userId] },
      channels: ['push'],
    });
    start();
    await isDone();
    const { notification } = JSON.parse(sent()[0]!.body).message;
    expect([...notification.body]).toHaveLength(200);
  });

  test('goes to each device whose session goes on, and to none after a logout [S237]', async () => {
    const eve = await world.member('admin');
    await world.device(eve);
    await eve.client.post('/user/logout');
    const tokens = [await world.device(ann), await world.device(ann)];
    start();
    await world.hear([alert()]);
    await isDone();
    expect(
      sent()
        .map(({ body }) => JSON.parse(body).message.token)
        .toSorted(),
    ).toEqual(tokens.toSorted());
  });

  test.each(['nobody', 'somebody else'])(
    'that waited goes to no device that %s has after a logout [S237]',
    async (who) => {
      const eve = await world.member('admin');
      const token = await world.device(eve);
      await world.hear([alert()]);
      expect(await waiting()).toHaveLength(1);
      await eve.client.post('/user/logout');
      if (who !== 'nobody') await world.device(bob, token);
      start();
      await isDone();
      expect(sent()).toEqual([]);
    },
  );

  test.each([
    ['UNREGISTERED', { status: 404, body: refusal('UNREGISTERED', 'NOT_FOUND') }],
    ['SENDER_ID_MISMATCH', { status: 403, body: refusal('SENDER_ID_MISMATCH', 'PERMISSION_DENIED') }],
    [
      'a bad token',
      {
        status: 400,
        body: refusal('INVALID_ARGUMENT', 'INVALID_ARGUMENT', {
          message: 'The registration token is not a valid FCM registration token',
        }),
      },
    ],
  ])('deactivates a device after %s, until it is registered again [NO31]', async (_, said) => {
    const [gone, other] = [await world.device(ann), await world.device(ann)];
    says = ({ token }) => (token === gone ? said : { status: 200 });
    start();
    await world.hear([alert()]);
    await isDone();
    expect(await devices()).toEqual([
      { token: gone, off: true },
      { token: other, off: false },
    ]);
    await world.hear([alert(9)]);
    await isDone();
    expect(sent()).toHaveLength(3);
    await world.device(ann, gone);
    expect((await devices()).every(({ off }) => !off)).toBe(true);
  });

  test('leaves a device alone that has registered again since its attempt began [NO31]', async () => {
    const token = await world.device(ann);
    await world.hear([alert()]);
    const [claimed] = await claimDuePushes(world.sql, { limit: 1, leaseSeconds: 60, after: NO_OWNER });
    await world.device(ann, token);
    await world.hear([alert(9)]);
    await disableDevice(world.sql, claimed!);
    expect(await devices()).toEqual([{ token, off: false }]);
    expect(await world.sql`select title from pushes`).toEqual([{ title: 'Acme 9 needs a new login' }]);
  });

  test('is kept for a refusal that is about the message, without a word about the device', async () => {
    await world.device(ann);
    says = () => ({ status: 400, body: refusal('INVALID_ARGUMENT', 'INVALID_ARGUMENT') });
    start();
    await world.hear([alert()]);
    await isDone(); // it is dropped: no repeat makes it right
    expect((await devices())[0]!.off).toBe(false);
  });

  test.each([
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '300' } }, 300_000],
    ['503', { status: 503 }, 60_000],
    ['no access', { status: 403 }, 60_000],
  ])('waits as told after %s, and is given up after three tries', async (_, said, waits) => {
    await world.device(ann);
    says = () => said;
    start();
    await world.hear([alert()]);
    await eventually(
      'it was tried',
      async () =>
        ((await waiting())[0]?.attempts ?? 0) === 1 && (await waiting())[0]!.inMs < 301_000 && sent().length === 1,
    );
    await eventually('its wait is written', async () => Math.abs((await waiting())[0]!.inMs - waits) < 20_000);
    const again = async (tries: number) => {
      await world.sql`update pushes set next_attempt_at = now()`;
      await eventually(`${tries} tries`, () => sent().length === tries);
    };
    await again(2);
    await eventually('its longer wait is written', async () => (await waiting())[0]!.inMs > 500_000);
    await again(3);
    await isDone();
    expect((await devices())[0]!.off).toBe(false);
    expect(world.app.log.all.map(({ detail }) => (detail as { event?: string }).event)).toContain('push.dropped');
  });
});

test('a push that waited for an hour is given up, and counted as one', async () => {
  await world.device(ann);
  await world.hear([alert()]);
  const [{ id }] = (await world.sql<{ id: string }[]>`
    update pushes
    set created_at = now() - interval '61 minutes'
    returning id`) as unknown as [{ id: string }];
  expect([await world.context.push.dropOld(10), await world.context.push.dropOld(10)]).toEqual([1, 0]);
  expect(world.app.log.all.map(({ detail }) => detail as { event?: string; pushId?: string })).toContainEqual(
    expect.objectContaining({ event: 'push.dropped', pushId: id }),
  );
});

describe('without one of the three settings', () => {
  test.each(Object.keys(FCM))('%s, nothing is pushed [NO30]', async (missing) => {
    await using app = await testApp({ sql: world.sql, env: { ...FCM, [missing]: '' } });
    await world.device(ann);
    const listener = app.context.listeners.find(({ name }) => name === 'notifications')!;
    await world.hear([alert()], listener);
    expect(await world.rowsOf(ann)).toHaveLength(1);
    expect(await waiting()).toEqual([]);
    expect(app.context.push.startSender()).toBeUndefined();
  });
});
