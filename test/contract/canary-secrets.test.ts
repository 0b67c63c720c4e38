// oxlint-disable max-lines -- one product is given all secrets, and searched once
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { SEALED } from '../../src/platform/db/index.ts';
import type { Answer, Client } from '../support/worlds/app.ts';
import { hearAnswers, keepTrail, newCanary, openCanaries, type Place, trailOf } from '../support/wire/canaries.ts';
import { eventually } from '../support/wire/eventually.ts';
import { testDatabase } from '../support/wire/database.ts';
import { exchange, makeApp, opens, refresh, tokensFor } from '../support/worlds/oauth.ts';
import { type Product, wholeProduct } from '../support/worlds/product.ts';
import { startReceiver } from '../support/wire/receiver.ts';
import { startRedis } from '../support/wire/services.ts';
import { startSocialServer } from '../support/peers/social-server.ts';

// The whole product runs with secrets that we know, each is used well and badly, and then everything that was written
// anywhere is searched for them. A new secret is one line: `plant` it where it comes into being.

const canaries = openCanaries();
const plant = (name: string) => canaries.plant(name);
const note = (name: string, value: unknown, shownBy?: RegExp) => canaries.note(name, value, shownBy);
const log: string[] = [];
const redisWords: string[] = [];
const heard = hearAnswers();
const network = await startSocialServer();
const receiver = await startReceiver();
const redis = await startRedis();
const db = await testDatabase();
let monitor: ChildProcess | undefined;
let product: Product;
let redisUrl: string | undefined;

/** Secrets that the operator sets. */
const SETTINGS = [
  'JWT_SECRET',
  'WEBHOOK_SIGNING_SECRET',
  'METRICS_TOKEN',
  'SERVICE_OAUTH_CLIENT_SECRET',
  'GITHUB_CLIENT_SECRET',
  'MASTODON_CLIENT_SECRET',
  'X_CLIENT_SECRET',
  'X_API_SECRET',
  'LINKEDIN_CLIENT_SECRET',
  'FACEBOOK_APP_SECRET',
  'DISCORD_BOT_TOKEN_ID',
  'TELEGRAM_TOKEN',
  'EMAIL_API_KEY',
  'EMAIL_SMTP_PASSWORD',
  'EMAIL_WEBHOOK_SECRET',
  'FCM_PRIVATE_KEY',
  'VAPID_PRIVATE_KEY',
  'INNGEST_EVENT_KEY',
  'INNGEST_SIGNING_KEY',
  'UNSPLASH_ACCESS_KEY',
  'OPENVERSE_CLIENT_SECRET',
  'DAPR_API_TOKEN',
  'APP_API_TOKEN',
  'ENCRYPTION_KEY_PREVIOUS',
];

beforeAll(async () => {
  const env: Record<string, string> = Object.fromEntries(
    SETTINGS.map((name) => [name, note(name, `${newCanary()}${newCanary()}`)]),
  );
  env['ENCRYPTION_KEY'] = note('ENCRYPTION_KEY', randomBytes(32).toString('base64'));
  const { password: ofDatabase } = new URL(db.url);
  if (ofDatabase) note('the password of the database', ofDatabase);
  if (redis) {
    const port = new URL(redis.url).port;
    const password = plant('the password of Redis');
    spawnSync('redis-cli', ['-p', port, 'config', 'set', 'requirepass', password]);
    redisUrl = `redis://:${password}@127.0.0.1:${port}`;
    monitor = spawn('redis-cli', ['-p', port, '--no-auth-warning', '-a', password, 'monitor'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    monitor.stdout!.on('data', (data: Buffer) => redisWords.push(data.toString()));
    await eventually('every command to Redis is heard', () => redisWords.length > 0);
  }
  await keepTrail(db.sql);
  product = await wholeProduct({
    level: 'trace',
    write: (line) => log.push(line),
    env: {
      ...env,
      DATABASE_URL: db.url,
      ...(redisUrl && { REDIS_URL: redisUrl }),
      X_CLIENT_ID: 'x',
      LINKEDIN_CLIENT_ID: 'l',
      EMAIL_PROVIDER: 'smtp',
      EMAIL_SMTP_HOST: '127.0.0.1',
      EMAIL_SMTP_PORT: '1', // nobody listens: every mail fails, and waits
      EMAIL_SMTP_USER: 'user',
      EMAIL_FROM_ADDRESS: 'rookery@example.com',
      FRONTEND_URL: 'https://app.example.com',
    },
  });
}, 60_000);
afterAll(async () => {
  heard[Symbol.dispose]();
  monitor?.kill('SIGKILL');
  await product?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  await Promise.all([network[Symbol.asyncDispose](), receiver[Symbol.asyncDispose](), db[Symbol.asyncDispose]()]);
});

/** The secret that a mail to this address carries: the end of its link. */
async function codeOf(address: string, template: string): Promise<string> {
  let sealed: string | undefined;
  await eventually(`a mail ${template} to ${address}`, async () => {
    const [row] = await db.sql<{ sealed: string }[]>`
      select row ->> 'content' as sealed from canary_trail
      where of = 'emails'
        and row ->> 'to_address' = ${address}
        and row ->> 'template' = ${template}
        and row ->> 'content' is not null
      order by id desc limit 1`;
    sealed = row?.sealed;
    return sealed !== undefined;
  });
  const { data } = JSON.parse(product.context.vault.open(sealed!)) as { data: { url: string } };
  return /[^/?=]+$/.exec(data.url)![0];
}
/** The cookies of a session are secrets for everything but `Set-Cookie`. */
function plantSession(who: string, client: Client): void {
  note(`the session of ${who}`, client.cookies.get('auth')!, /^(cookie|answer POST \/auth\/(login|activate))/);
  note(`the refresh token of ${who}`, client.cookies.get('refresh')!, /^(cookie|answer POST \/auth\/(login|activate))/);
}
async function signUp(name: string) {
  const email = `${name}@example.com`;
  const password = plant(`the password of ${name}`);
  const client = product.client();
  await client.post('/auth/register', { provider: 'LOCAL', email, password, company: 'Acme Ltd' });
  if (!client.cookies.has('auth')) {
    const code = note(`the activation code of ${name}`, await codeOf(email, 'activation'));
    expect((await client.post('/auth/activate', { code: newCanary() })).body).toEqual({ can: false });
    expect((await client.post('/auth/activate', { code })).status).toBe(200);
    expect((await client.post('/auth/activate', { code })).body).toEqual({ can: false });
  }
  plantSession(name, client);
  return {
    email,
    password,
    client,
    userId: '',
    orgId: '',
    company: '',
    withKey: () => Promise.reject(new Error('not here')),
  };
}

describe('secrets that are used', () => {
  let ann: Awaited<ReturnType<typeof signUp>>;
  let key: string;
  const keyClient = () => Object.assign(product.client(), { headers: { authorization: key } });

  test('accounts: passwords, sessions, refresh tokens, codes of mails', async () => {
    ann = await signUp('ann');
    const { client } = ann;
    const wrong = plant('a wrong password');
    expect(
      (await product.client().post('/auth/login', { provider: 'LOCAL', email: ann.email, password: wrong })).status,
    ).toBe(400);
    expect(
      (await product.client().post('/auth/login', { provider: wrong, email: wrong, password: wrong })).status,
    ).toBe(400);
    const other = product.client();
    const { body } = await other.post('/auth/login', {
      provider: 'LOCAL',
      email: ann.email,
      password: ann.password,
      returnToken: true,
    });
    plantSession('ann elsewhere', other);
    expect(body.accessToken).toBe(other.cookies.get('auth'));
    const rotated = await other.post('/auth/refresh', {});
    expect(rotated.status).toBe(200);
    plantSession('ann renewed', other);
    expect(
      (await product.client().post('/auth/refresh', { refreshToken: plant('a refresh token that never was') })).status,
    ).toBe(401);
    await client.post('/auth/forgot', { email: ann.email });
    const token = note('the code of a new password', await codeOf(ann.email, 'password-reset'));
    const fresh = plant('the new password of ann');
    expect(
      (
        await client.post('/auth/forgot-return', {
          token: plant('a wrong code'),
          password: fresh,
          repeatPassword: fresh,
        })
      ).body,
    ).toEqual({ reset: false });
    expect((await client.post('/auth/forgot-return', { token, password: fresh, repeatPassword: fresh })).body).toEqual({
      reset: true,
    });
    expect((await client.post('/auth/login', { provider: 'LOCAL', email: ann.email, password: fresh })).status).toBe(
      200,
    );
    plantSession('ann with the new password', client);
    const last = plant('the last password of ann');
    expect(
      (await client.post('/user/change-password', { oldPassword: wrong, password: last, repeatPassword: last })).status,
    ).toBeGreaterThanOrEqual(400);
    await client.post('/user/change-password', { oldPassword: fresh, password: last, repeatPassword: last });
    await client.post('/auth/login', { provider: 'LOCAL', email: ann.email, password: last });
    plantSession('ann with the last password', client);
    await client.post('/user/change-email', { email: 'ann.new@example.com', password: last });
    note('the code of a new address', await codeOf('ann.new@example.com', 'email-change'));
  });

  test('API keys: made, renamed, rotated, revoked, wrong, in the wrong place', async () => {
    const shown = /^answer POST \/user\/api-keys/;
    const made = await ann.client.post('/user/api-keys', { name: 'one' });
    note('an API key that was rotated', made.body.plaintext, shown);
    const idOf = async ({ body }: Answer) =>
      ((await ann.client.get('/user/api-keys')).body as { id: string; prefix: string }[]).find(
        ({ prefix }) => prefix === body.prefix,
      )!.id;
    const rotated = await ann.client.post(`/user/api-keys/${await idOf(made)}/rotate`, {});
    note('a revoked API key', rotated.body.plaintext, shown);
    expect((await ann.client.delete(`/user/api-keys/${await idOf(rotated)}`)).status).toBe(200);
    key = (await ann.client.post('/user/api-keys', { name: 'two' })).body.plaintext;
    note('an API key', key, shown);
    expect((await keyClient().get('/public/v1/is-connected')).status).toBe(200);
    expect(
      (await product.client().get('/public/v1/is-connected', { authorization: rotated.body.plaintext })).status,
    ).toBe(401);
    for (const value of [
      plant('a key that never was'),
      `pm_live_${plant('a key that looks like one')}`,
      `Bearer pos_${plant('an access token that never was')}`,
    ])
      expect((await product.client().get('/public/v1/is-connected', { authorization: value })).status).toBe(401);
    await product.client().get(`/public/v1/is-connected?apiKey=${key}&token=${key}`);
    await product.client().get('/user/self', { authorization: key });
    await product.client().get('/user/self', { auth: plant('no session') });
    await product.client().get('/user/self', { cookie: `auth=${plant('no cookie of ours')}` });
    await product
      .client()
      .get('/metrics', { authorization: `Bearer ${plant('a wrong metrics token')}`, 'x-forwarded-for': '203.0.113.1' });
    await product.client().get(`/nothing/${plant('a secret in a path')}?key=${plant('a secret in a query')}`);
  });

  test('webhooks: secrets given, rotated, in addresses that are refused; deliveries that fail', async () => {
    const given = /^answer (POST|PUT) \/(public\/v1\/)?webhooks/;
    const made = await ann.client.post(
      '/webhooks',
      { name: 'w', url: `${receiver.url}/hook`, integrations: [], secret: true },
      { 'idempotency-key': 'once' },
    );
    expect(made.status).toBe(201);
    note('the secret of a webhook', made.body.secret, given);
    expect(
      (
        await ann.client.post(
          '/webhooks',
          { name: 'w', url: `${receiver.url}/hook`, integrations: [], secret: true },
          { 'idempotency-key': 'once' },
        )
      ).headers.get('idempotency-replayed'),
    ).toBe('true');
    const rotated = await ann.client.put('/webhooks', {
      id: made.body.id,
      name: 'w',
      url: `${receiver.url}/hook`,
      integrations: [],
      rotateSecret: true,
    });
    note('the rotated secret of a webhook', rotated.body.secret, given);
    receiver.answer = (response, request) => void response.writeHead(500).end(JSON.stringify(request.headers));
    await ann.client.post(`/webhooks/test-ping/${made.body.id}`);
    for (const path of ['/webhooks', '/webhooks/send', '/files/upload-from-url'])
      expect(
        (
          await ann.client.post(path, {
            name: 'w',
            integrations: [],
            url: `https://user:${plant(`a password in the url of ${path}`)}@hook.example/`,
          })
        ).status,
      ).toBe(400);
  });

  test('channels: app secrets, codes, states and tokens of a network, that fails and repeats what it was sent', async () => {
    [network.expiresIn, network.graceMs] = [1, 600_000];
    const begin = async () =>
      network.consent(
        (await ann.client.get(`/integrations/social/mastodon?externalUrl=${encodeURIComponent(network.url)}`)).body
          .url as string,
      );
    const first = await begin();
    note('the state of a login', first.state, /^answer GET \/integrations\/social/);
    note('the code of a login', first.code);
    const wrong = { code: plant('a wrong code of a network'), state: plant('a wrong state') };
    expect((await ann.client.post('/integrations/social-connect/mastodon', wrong)).status).toBeGreaterThanOrEqual(400);
    expect(
      (await ann.client.post('/integrations/social-connect/mastodon', { ...first, code: wrong.code })).status,
    ).toBeGreaterThanOrEqual(400);
    const second = await begin();
    note('the state of the second login', second.state, /^answer GET \/integrations\/social/);
    note('the code of the second login', second.code);
    let tried = 0;
    network.beforeStatus = async (token) => ({
      status: ++tried && 422,
      body: { error: `no luck with Bearer ${token}, nor access_token=${token}` },
    });
    const connected = await ann.client.post('/integrations/social-connect/mastodon', {
      code: second.code,
      state: second.state,
    });
    expect([connected.status, connected.text]).toEqual([200, expect.any(String)]);
    for (const { clientSecret } of network.apps.values()) note('the secret of a registered app', clientSecret);
    for (const token of network.tokens.keys()) note('the token of a channel', token);
    for (const token of network.refreshTokens.keys()) note('the refresh token of a channel', token);
    const { body: posts } = await keyClient().post('/public/v1/posts', {
      type: 'now',
      date: new Date().toISOString(), // oxlint-disable-line no-restricted-globals -- as a client sends it
      posts: [
        {
          integration: { id: connected.body.id ?? connected.body.integration?.id },
          value: [{ content: 'Hello', image: [] }],
        },
      ],
    });
    expect([posts.length, typeof posts[0]?.postId]).toEqual([1, 'string']);
    await eventually('the network was asked', () => tried > 0);
    await eventually(
      'the attempt has ended',
      async () => (await db.sql`select 1 from posts where state = 'ERROR'`).length === 1,
    );
    for (const token of network.tokens.keys()) note('a renewed token of a channel', token);
    for (const token of network.refreshTokens.keys()) note('a renewed refresh token of a channel', token);
    for (const [provider, fields] of [
      ['bluesky', { service: 'https://127.0.0.1:1', identifier: 'ann', password: plant('the password of a network') }],
      ['nostr', { password: `nsec1${plant('the key of a network')}` }],
    ] as const)
      expect(
        (await ann.client.post(`/integrations/social-connect/${provider}`, { fields })).status,
      ).toBeGreaterThanOrEqual(400);
  });

  test('our OAuth server: secrets of apps, verifiers, codes, tokens, devices, each used well and badly', async () => {
    const shown =
      /^answer POST \/(user\/oauth-app|oauth\/(token|authorize|register)|(oauth\/)?device\/(code|token|approve))/;
    const app = await makeApp(ann);
    note('the secret of an app', app.clientSecret, shown);
    const { body: rotated } = await ann.client.post('/user/oauth-app/rotate-secret', {});
    note('the rotated secret of an app', rotated.clientSecret, shown);
    const mine = { ...app, clientSecret: rotated.clientSecret as string };
    const tokens = await tokensFor(product, ann, mine);
    note('an authorization code', tokens.code, shown);
    note('a verifier', tokens.verifier);
    note('an access token', tokens.access, shown);
    note('a refresh token of OAuth', tokens.refresh, shown);
    expect(await opens(product, tokens.access)).toBe(200);
    for (const wrong of [
      { code: plant('a wrong authorization code') },
      { code: tokens.code, code_verifier: plant('a wrong verifier of a code') },
    ])
      expect((await exchange(product, mine, wrong)).status).toBe(400);
    expect(
      (await exchange(product, { ...mine, clientSecret: plant('a wrong secret of an app') }, { code: tokens.code }))
        .status,
    ).toBe(401);
    const others = await tokensFor(product, ann, mine);
    const { body: fresh } = await refresh(product, mine, others.refresh);
    note('a renewed access token', fresh.access_token, shown);
    note('a renewed refresh token of OAuth', fresh.refresh_token, shown);
    expect((await refresh(product, mine, others.refresh)).status).toBe(400); // used twice: a theft
    expect(
      (
        await product
          .client()
          .post('/oauth/revoke', { token: tokens.access, client_id: mine.clientId, client_secret: mine.clientSecret })
      ).status,
    ).toBe(200);
    const { body: device } = await product.client().post('/device/code', {});
    note('the code of a device', device.device_code, shown);
    await product.client().post('/device/token', { device_code: plant('a code that no device has') });
    await ann.client.post('/device/approve', { user_code: device.user_code });
    const { body: ofDevice } = await product.client().post('/device/token', { device_code: device.device_code });
    note('the key of a device', ofDevice.access_token, shown);
  });

  test('settings of providers: secrets of the instance', async () => {
    const clientSecret = plant('the secret of a login provider');
    const made = await ann.client.post('/admin/providers/settings', {
      domain: 'auth',
      providerId: 'google',
      credentials: { clientId: 'x', clientSecret },
    });
    expect(made.status).toBe(201);
    const changed = plant('the changed secret of a login provider');
    expect(
      (await ann.client.put(`/admin/providers/settings/${made.body.id}`, { credentials: { clientSecret: changed } }))
        .status,
    ).toBe(200);
    await ann.client.get('/admin/providers/settings');
    await ann.client.post('/admin/providers/settings', {
      domain: 'auth',
      providerId: 'google',
      credentials: { clientSecret: plant('a secret without its id') },
    });
    await product.client().get('/auth/oauth/google');
  });

  test('bodies that are refused', async () => {
    const secret = plant('a secret in a body that is refused');
    for (const body of [
      `{"password":"${secret}"`,
      `{"password":["${secret}"]}`,
      `["${secret}"]`,
      `{"password":{"a":"${secret}"},"email":7}`,
    ])
      for (const path of ['/auth/login', '/auth/register', '/user/api-keys', '/webhooks'])
        expect((await ann.client.post(path, body)).status).toBe(400);
    expect(
      (
        await ann.client.post('/auth/login', `password=${secret}`, {
          'content-type': 'application/x-www-form-urlencoded',
        })
      ).status,
    ).toBe(415);
  });

  test('invitations', async () => {
    await ann.client.post('/settings/team', { email: 'ben@example.com', role: 'editor', sendEmail: true });
    note(
      'the code of an invitation',
      await codeOf('ben@example.com', 'invitation'),
      /^answer (GET|POST) \/(settings\/team|members)/,
    );
  });
});

describe('secrets that are searched for', () => {
  const everything = async (): Promise<Place[]> => [
    ...log.map((text) => ({ name: 'log', text })),
    ...heard.places,
    { name: 'metrics', text: await product.context.metrics.text() },
    { name: 'redis', text: redisWords.join('') },
    ...(await trailOf(db.sql)),
  ];

  test('there are many of them, and the search would find each', () => {
    expect(canaries.count).toBeGreaterThanOrEqual(80);
    const others = openCanaries();
    const value = others.plant('x');
    for (const text of [
      value,
      Buffer.from(`{"a":"${value}"}`).toString('base64'),
      Buffer.from(value).toString('hex'),
      `%22${encodeURIComponent(value)}`,
    ])
      expect(others.found([{ name: 'somewhere', text: `… ${text} …` }])).toEqual(['x in somewhere']);
  });
  test('none of them stands anywhere in a log, an answer, a number, the cache or a row of the database [X19, SC1]', async () => {
    expect(log.length).toBeGreaterThan(50);
    expect(heard.places.length).toBeGreaterThan(100);
    if (redisUrl !== undefined) {
      const { port, password } = new URL(redisUrl);
      spawnSync('redis-cli', ['-p', port, '--no-auth-warning', '-a', password, 'echo', 'this was the last one']);
      await eventually('the last command to Redis is heard', () =>
        redisWords.join('').includes('this was the last one'),
      );
      expect(redisWords.join('').length).toBeGreaterThan(1_000);
    }
    const places = await everything();
    expect(places.filter(({ name }) => name.startsWith('row ')).length).toBeGreaterThan(300);
    expect(canaries.found(places)).toEqual([]);
  });
  test('sealed values stand in the columns that are known to hold them, and nowhere else [SC1, SC2]', async () => {
    const columns = new Set(
      (await trailOf(db.sql)).filter(({ text }) => text.includes('v2:')).map(({ name }) => name.replace('row ', '')),
    );
    const known = SEALED.map(({ table, column }) => `${table}.${column}`);
    expect([...columns].filter((column) => !known.includes(column))).toEqual([]);
    expect(columns.size).toBeGreaterThanOrEqual(5);
  });
});
