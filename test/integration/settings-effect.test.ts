import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Sweep, sweepsOf } from '../../actors/sweeper.ts';
import { readConfig } from '../../src/config/index.ts';
import type { Setting } from '../../src/config/kinds.ts';
import { SETTINGS, type SettingName } from '../../src/config/settings.ts';
import { encryptionKey, newId, openVault } from '../../src/kernel/index.ts';
import { adapters } from '../../src/providers/registry.gen.ts';
import { Client, JWT_SECRET, type SignedUp, testApp, type TestApp } from '../support/app.ts';
import { subscribe, WITH_BILLING } from '../support/billing.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Outside, startOutside, type Visit } from '../support/outside.ts';
import { type PayingApp, payingApp } from '../support/paying.ts';
import { type PaymentProcessor, startPaymentProcessor } from '../support/payment-processor.ts';
import { freePort } from '../support/ports.ts';
import { startSmtp } from '../support/smtp.ts';
import { type Product, wholeProduct } from '../support/product.ts';
import { startProxy } from '../support/proxy-server.ts';
import { startReceiver } from '../support/receiver.ts';
import { runRookery, startRookery } from '../support/rookery-process.ts';
import { formOf, picture } from '../support/samples.ts';

// Every setting that is not marked as later work, given to the product as a user runs it, and seen from outside.

type Env = Readonly<Record<string, string>>;
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
jest.setTimeout(240_000); // processes that start one after another: on a busy machine each takes its time
const stack = new AsyncDisposableStack();
const shown = new Set<string>();
/** One row of the table: what these settings do. */
function effect(names: readonly SettingName[], title: string, see: () => Promise<void>): void {
  for (const name of names) shown.add(name);
  test(`${names.join(', ')}: ${title}`, see);
}
/** Settings whose effect needs what another test has: the title of a test that runs whole processes. */
const OPERATED = [
  'test/integration/dapr-operate.test.ts',
  'the API shows the host, its actors, what waits by the rows, and what Dapr says; the host tells its numbers by itself',
] as const;
const ELSEWHERE: Partial<Record<SettingName, readonly [file: string, title: string]>> = {
  ACTOR_ENGINE: OPERATED,
  DAPR_HTTP_PORT: OPERATED,
  DAPR_GRPC_PORT: OPERATED,
  DAPR_API_TOKEN: OPERATED,
  APP_API_TOKEN: OPERATED,
  APP_PORT: OPERATED,
  DAPR_PLACEMENT_HEALTH_URL: OPERATED,
  METRICS_PORT: OPERATED,
  METRICS_LISTEN_HOST: ['src/config/config.test.ts', 'METRICS_LISTEN_HOST is the address of the numbers, and one that others reach needs METRICS_TOKEN'],
  SHUTDOWN_DELAY_SECONDS: ['test/e2e/drain.test.ts', 'while SHUTDOWN_DELAY_SECONDS lasts it is not ready, serves on, and tells each connection to close'],
  ALLOW_DESTRUCTIVE_SCHEMA: ['test/integration/migrate.test.ts', 'a migration that drops data needs ALLOW_DESTRUCTIVE_SCHEMA [DE36]'],
};

const HOSTS = [
  'login.example',
  'social.example',
  'echo.example',
  'github.com',
  'api.github.com',
  'api.x.com',
  'www.linkedin.com',
  'api.linkedin.com',
  'graph.facebook.com',
  'accounts.google.com',
  'api.unsplash.com',
  'api.pexels.com',
  'pixabay.com',
  'api.giphy.com',
  'api.openverse.org',
  'api.resend.com',
  'api.eu.sendgrid.com',
  'api.eu.mailgun.net',
  'api.postmarkapp.com',
  'email.eu-west-1.amazonaws.com',
];
let db: TestDatabase;
let outside: Outside;
let base: TestApp;
/** The first user: a super-admin. */
let ann: SignedUp;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rookery-settings-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  db = stack.use(await testDatabase({ connections: 8 }));
  outside = stack.use(await startOutside(HOSTS));
  base = stack.use(await open());
  ann = await base.signUp();
});
afterAll(() => stack.disposeAsync());

const open = (env: Env = {}, more: { sql?: TestDatabase['sql'] } = {}) => testApp({ sql: db.sql, env, network: outside.network, ...more });
const whole = (env: Env = {}, more: Omit<Parameters<typeof wholeProduct>[0] & object, 'env'> = {}) => wholeProduct({ env, network: outside.network, ...more });
/** Ann at another app over the same rows. */
const at = ({ address }: { address: string }, { client } = ann): Client => Object.assign(new Client(address), { cookies: client.cookies });
const newcomer = () => ({ provider: 'LOCAL', email: `${newId()}@example.com`, password: 'correct horse battery', company: 'Acme' });

/** A server that takes connections and says nothing, until it is disposed of. */
async function startSilence() {
  const sockets = new Set<import('node:net').Socket>();
  const server: Server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}
/** Asks a server that says nothing by the usual time limit, then by a short one: the short one must be over first. */
async function endsFirst(env: Env, ask: (client: Client, url: string) => Promise<unknown>): Promise<unknown> {
  await using silence = await startSilence();
  await using usual = await open();
  await using short = await open(env);
  const patient = ask(at(usual), silence.url).then(() => 'the usual one');
  await eventually('it is asked', () => silence.sockets.size > 0);
  const answer = ask(at(short), silence.url);
  expect(await Promise.race([answer.then(() => 'the short one'), patient])).toBe('the short one');
  await silence[Symbol.asyncDispose]();
  await patient;
  return answer;
}

describe('the service', () => {
  const header = async (env: Env, name: string, path = '/health/live', sent: Record<string, string> = {}) => {
    await using app = await open(env);
    return (await app.client().get(path, sent)).headers.get(name);
  };
  effect(['NODE_ENV', 'NOT_SECURED'], 'production turns the security headers on, NOT_SECURED off again', async () => {
    const hsts = (env: Env) => header(env, 'strict-transport-security');
    expect([await hsts({}), await hsts({ NODE_ENV: 'production', NOT_SECURED: 'true' })]).toEqual([null, null]);
    expect(await hsts({ NODE_ENV: 'production' })).toMatch(/max-age=\d{7,}/);
  });
  effect(
    ['CONFIG_CHECK_STRICT', 'IS_GENERAL'],
    'a fatal issue ends every process, and only then; standard self-hosting is asked for [DE27, DE28]',
    async () => {
      const lax = await runRookery(['emails', folder], { JWT_SECRET, PORT: 'none', IS_GENERAL: 'false' });
      expect([lax.code, lax.said]).toEqual([0, expect.stringMatching(/PORT[^]*IS_GENERAL|IS_GENERAL[^]*PORT/)]);
      const strict = await runRookery(['emails', folder], { JWT_SECRET, PORT: 'none', IS_GENERAL: 'true', CONFIG_CHECK_STRICT: 'true' });
      expect([strict.code, strict.said]).toEqual([1, expect.not.stringContaining('IS_GENERAL')]);
    },
  );
  effect(['USE_INNGEST', 'INNGEST_EVENT_KEY', 'INNGEST_SIGNING_KEY', 'INNGEST_DEV'], 'its keys are asked for in production, but for its dev mode', async () => {
    const asksFor = async (env: Env) => {
      const { said } = await runRookery(['migrate'], { JWT_SECRET, NODE_ENV: 'production', ...env });
      return ['INNGEST_EVENT_KEY', 'INNGEST_SIGNING_KEY'].filter((name) => said.includes(`${name} is missing`));
    };
    expect(await asksFor({})).toEqual([]);
    expect(await asksFor({ USE_INNGEST: 'true', INNGEST_EVENT_KEY: 'k' })).toEqual(['INNGEST_SIGNING_KEY']);
    expect(await asksFor({ USE_INNGEST: 'true', INNGEST_SIGNING_KEY: 'k' })).toEqual(['INNGEST_EVENT_KEY']);
    expect(await asksFor({ USE_INNGEST: 'true', INNGEST_DEV: 'true' })).toEqual([]);
  });
  effect(['FRONTEND_URL', 'MAIN_URL', 'ADMIN_URL'], 'pages of these origins may call the routes of the console', async () => {
    const origins = ['https://front.example', 'https://main.example', 'https://admin.example'] as const;
    await using app = await open({ FRONTEND_URL: origins[0], MAIN_URL: origins[1], ADMIN_URL: origins[2] });
    for (const origin of origins) expect((await app.client().get('/user/self', { origin })).headers.get('access-control-allow-origin')).toBe(origin);
    expect((await base.client().get('/user/self', { origin: origins[0] })).headers.get('access-control-allow-origin')).not.toBe(origins[0]);
  });
  effect(['NEXT_PUBLIC_BACKEND_URL', 'NEXT_PUBLIC_OVERRIDE_BACKEND_URL'], 'the OAuth server tells them of itself', async () => {
    const told = async (env: Env) => {
      await using app = await open(env);
      const { issuer, token_endpoint: token } = (await app.client().get('/.well-known/oauth-authorization-server')).body;
      return [issuer, new URL(token).origin];
    };
    expect(await told({ NEXT_PUBLIC_BACKEND_URL: 'https://api.example' })).toEqual(['https://api.example', 'https://api.example']);
    const override = { NEXT_PUBLIC_BACKEND_URL: 'https://api.example', NEXT_PUBLIC_OVERRIDE_BACKEND_URL: 'https://token.example' };
    expect(await told(override)).toEqual(['https://api.example', 'https://token.example']);
  });
  effect(['BACKEND_INTERNAL_URL', 'DATABASE_URL'], 'the host tells its address in this database', async () => {
    await using own = await testDatabase();
    await using _product = await whole({ DATABASE_URL: own.url, BACKEND_INTERNAL_URL: 'http://inside.example:1' });
    expect(await own.sql`select address from actor_hosts`).toEqual([{ address: 'http://inside.example:1' }]);
  });
  effect(['BACKEND_LISTEN_HOST', 'PORT'], 'where it listens [DE35]', async () => {
    const port = await freePort();
    await using app = await open({ NODE_ENV: 'production', BACKEND_LISTEN_HOST: '127.0.0.1', PORT: String(port) });
    expect(app.address).toBe(`http://127.0.0.1:${port}`);
    expect((await app.client().get('/health/live')).status).toBe(200);
  });
  effect(['TRUST_PROXY_HOPS'], 'so many proxies are believed', async () => {
    const seen = async (env: Env) => {
      await using app = await open(env);
      const one = app.client();
      one.headers = { 'x-forwarded-for': '203.0.113.9' };
      await one.post('/auth/register', newcomer());
      return (await one.get('/user/sessions')).body[0].ip;
    };
    expect([await seen({}), await seen({ TRUST_PROXY_HOPS: '1' })]).toEqual(['127.0.0.1', '203.0.113.9']);
  });
  effect(['API_LIMIT', 'RATE_LIMIT_SCALE'], 'requests per hour of a route without a limit of its own: 600 unless told [RL1]', async () => {
    const limit = async (env: Env) => {
      await using app = await open(env);
      const before = Date.now();
      const { headers } = await at(app).get('/user/organizations');
      const [most, reset] = ['x-ratelimit-limit', 'x-ratelimit-reset'].map((name) => Number(headers.get(name)));
      expect(reset! * 1_000 - before).toBeGreaterThanOrEqual(3_600_000 - 1_000); // an hour from the first request on
      expect(reset! * 1_000 - Date.now()).toBeLessThanOrEqual(3_600_000 + 1_000);
      return most;
    };
    expect(await limit({ RATE_LIMIT_SCALE: '1' })).toBe(600);
    expect(await limit({ RATE_LIMIT_SCALE: '2', API_LIMIT: '7' })).toBe(14);
  });
  effect(['APPS_CHALLENGE'], 'is answered', async () => {
    await using app = await open({ APPS_CHALLENGE: 'the-challenge' });
    expect((await app.client().get('/.well-known/apps-challenge')).text).toContain('the-challenge');
    expect((await base.client().get('/.well-known/apps-challenge')).status).toBe(404);
  });
  effect(['MOBILE_APP_SCHEME'], 'leads into the mobile application', async () => {
    expect(await header({ MOBILE_APP_SCHEME: 'acme://login' }, 'location', '/auth/oauth-mobile-callback?code=c')).toMatch(/^acme:\/\/login\?.*code=c/);
  });
  effect(
    ['DATA_FOLDER', 'UPLOAD_FOLDER', 'UPLOAD_FOLDER_SHARED', 'MEDIA_UPLOAD_MAX_BYTES', 'LOCAL_STORAGE_QUOTA_GB'],
    'where uploads lie, how large one is, and when they are too many',
    async () => {
      const bytes = await picture(64, 64);
      const uploaded = async (env: Env) => {
        await using app = await open(env);
        const { status, headers } = await at(app).post('/files/upload-simple', formOf(bytes, { name: 'a.png' }));
        return { status, warning: headers.get('x-storage-warning') };
      };
      const files = (name: string) =>
        existsSync(join(folder, name)) ? readdirSync(join(folder, name), { recursive: true }).filter((file) => String(file).endsWith('.png')) : [];
      const usual = await uploaded({ DATA_FOLDER: join(folder, 'data') });
      expect([usual.status, files('data/uploads').length]).toEqual([201, 1]);
      const full = await uploaded({ UPLOAD_FOLDER: join(folder, 'up'), LOCAL_STORAGE_QUOTA_GB: '0.00000001' });
      expect([full.status, files('up').length]).toEqual([201, 1]);
      expect([usual.warning, full.warning]).toEqual([null, 'soft-quota']);
      expect((await uploaded({ MEDIA_UPLOAD_MAX_BYTES: '10' })).status).toBe(413);
      expect((await uploaded({ UPLOAD_FOLDER_SHARED: 'false' })).status).toBe(503); // nothing is kept in it
    },
  );
});

describe('a process', () => {
  effect(['SANDBOX_PORT', 'LOG_LEVEL', 'LOG_FORMAT'], 'the sandbox listens there; as much is logged as was asked for, in that form', async () => {
    await using own = await testDatabase();
    const [port, sandbox] = [await freePort(), await freePort()];
    const env = { JWT_SECRET, DATABASE_URL: own.url, BACKEND_LISTEN_HOST: '127.0.0.1', PORT: String(port), DATA_FOLDER: join(folder, 'process') };
    const asks = async () => {
      await fetch(`http://127.0.0.1:${port}/user/self`);
      await fetch(`http://127.0.0.1:${port}/auth/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"provider":1}' });
    };
    await using quiet = await startRookery({ ...env, SANDBOX_PORT: String(sandbox), LOG_LEVEL: 'silent', LOG_FORMAT: 'json' });
    expect((await fetch(`http://127.0.0.1:${sandbox}/health`)).status).toBe(200);
    await asks();
    await quiet[Symbol.asyncDispose]();
    expect(quiet.said()).not.toContain('/user/self');
    for (const [LOG_FORMAT, ...lines] of [
      ['json', /^\{"level":"info".*"route":"\/user\/self".*"code":"unauthenticated".*\}$/m, /^\{.*"route":"\/auth\/login".*"code":"validation_failed"/m],
      ['plain', /^(?!\{).*\/user\/self/m],
    ] as const) {
      await using loud = await startRookery({ ...env, SANDBOX_ENABLED: 'false', LOG_LEVEL: 'info', LOG_FORMAT });
      await asks();
      await loud[Symbol.asyncDispose]();
      for (const line of lines) expect(loud.said()).toMatch(line); // refusals, with route and code
    }
  });
  effect(['SANDBOX_URL', 'SANDBOX_ENABLED'], 'the sandbox is the one that runs there, and is offered only where it is on', async () => {
    await using own = await testDatabase();
    await using network = await startSilence();
    const port = await freePort();
    await using _one = await startRookery({
      JWT_SECRET,
      DATABASE_URL: own.url,
      BACKEND_LISTEN_HOST: '127.0.0.1',
      PORT: String(port),
      DATA_FOLDER: join(folder, 'process'),
      SANDBOX_URL: network.url,
    });
    const who = new Client(`http://127.0.0.1:${port}`);
    await who.post('/auth/register', newcomer());
    const connecting = who.post('/integrations/social-connect/sandbox', { fields: { name: 'A' }, allowPreview: true });
    await eventually('the sandbox is asked', () => network.sockets.size > 0);
    await network[Symbol.asyncDispose]();
    expect((await connecting).status).toBeGreaterThanOrEqual(400);
    const offers = async (env: Env) => {
      await using app = await open(env);
      return (await at(app).get('/providers/catalog')).text.includes('"sandbox"');
    };
    expect([await offers({}), await offers({ SANDBOX_ENABLED: 'false' })]).toEqual([true, false]);
  });
});

describe('database and cache', () => {
  effect(
    ['DATABASE_CONNECTION_LIMIT', 'DATABASE_POOL_TIMEOUT'],
    'the pool has so many connections, and gives up on a new one after so long [DE33, DE34]',
    async () => {
      await using product = await whole({ DATABASE_CONNECTION_LIMIT: '3', DATABASE_POOL_TIMEOUT: '7' });
      const { sql } = product.context;
      const pids = new Set<unknown>();
      const full = Promise.withResolvers<void>();
      const works = Array.from({ length: 12 }, () =>
        sql.begin(async (tx) => {
          pids.add((await tx`select pg_backend_pid() as pid`)[0]!['pid']);
          if (pids.size === 3) full.resolve();
          await full.promise;
        }),
      );
      await Promise.all(works);
      expect(pids.size).toBe(3);
      expect(sql.options.connect_timeout).toBe(7); // of the driver itself
    },
  );
  effect(['REDIS_URL'], 'the cache is there', async () => {
    await using redis = await startSilence();
    const opening = open({ REDIS_URL: `redis://${redis.host}` });
    await eventually('it is called', () => redis.sockets.size > 0);
    await redis[Symbol.asyncDispose]();
    await using _app = await opening;
  });
});

describe('secrets', () => {
  effect(['JWT_SECRET'], 'signs sessions', async () => {
    const secret = 'another secret that is long enough for it';
    await using app = await open({ JWT_SECRET: secret });
    const one = app.client();
    await one.post('/auth/register', newcomer());
    const [head, body, signature] = one.cookies.get('auth')!.split('.');
    expect(createHmac('sha256', secret).update(`${head}.${body}`).digest('base64url')).toBe(signature);
    expect((await at(app).get('/user/self')).status).toBe(401);
  });
  effect(['ENCRYPTION_KEY', 'ENCRYPTION_KEY_PREVIOUS'], 'seals what is stored; the one before still opens it', async () => {
    const [first, second] = ['f'.repeat(64), 'a'.repeat(64)];
    await using app = await open({ ENCRYPTION_KEY: first });
    const made = await at(app).post('/providers/settings', {
      domain: 'shortlink',
      providerId: 'dub',
      credentials: { apiKey: 'dub_the-key', domain: 'go.example' },
    });
    expect(made.status).toBe(201);
    const [row] = await db.sql<{ sealed: string }[]>`select credentials as sealed from provider_settings where id = ${made.body.id}`;
    expect(openVault(encryptionKey(first)).open(row!.sealed)).toContain('dub_the-key');
    const read = async (env: Env) => {
      await using later = await open(env);
      return (await at(later).put(`/providers/settings/${made.body.id}`, { options: { domain: 'go2.example' } })).status;
    };
    expect(await read({ ENCRYPTION_KEY: second, ENCRYPTION_KEY_PREVIOUS: first })).toBe(200);
    expect(await read({ ENCRYPTION_KEY: 'b'.repeat(64) })).not.toBe(200);
    await db.sql`delete from provider_settings`;
  });
  effect(['WEBHOOK_SIGNING_SECRET'], 'signs deliveries, those of the generic send too [WH9, WH25]', async () => {
    await using receiver = await startReceiver();
    await using app = await open({ WEBHOOK_SIGNING_SECRET: 'the signing secret' });
    expect((await at(app).post('/webhooks/send', { url: receiver.url, message: 'Hi' })).body).toEqual({ success: true, status: 200 });
    const [{ headers, body }] = receiver.ledger as [(typeof receiver.ledger)[0]];
    expect(headers['x-service-signature']).toBe(`sha256=${createHmac('sha256', 'the signing secret').update(body).digest('hex')}`);
  });
});

describe('registration and login', () => {
  const OIDC = {
    SERVICE_GENERIC_OAUTH: 'true',
    SERVICE_OAUTH_AUTH_URL: 'https://login.example/auth',
    SERVICE_OAUTH_TOKEN_URL: 'https://login.example/token',
    SERVICE_OAUTH_USERINFO_URL: 'https://login.example/me',
    SERVICE_OAUTH_CLIENT_ID: 'the-client',
    SERVICE_OAUTH_CLIENT_SECRET: 'the-secret',
    SERVICE_OAUTH_SCOPE: 'openid email',
  };
  /** To the consent page and back; what the provider was asked for the token. */
  async function comeBack(app: TestApp, provider: string, host: string) {
    const client = app.client();
    const page = new URL((await client.get(`/auth/oauth/${provider}`)).text);
    const before = outside.to(host).length;
    const answer = await client.post(`/auth/oauth/${provider}/exists`, { code: 'the-code', state: page.searchParams.get('state') });
    return { client, page, answer, asked: outside.to(host).slice(before) };
  }
  /** Id and secret of a client, wherever the request has them. */
  function credentials({ headers, body }: Visit): (string | null)[] {
    const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
    if (basic) return atob(basic).split(':').map(decodeURIComponent);
    const fields = body.startsWith('{') ? new Map(Object.entries(JSON.parse(body) as Record<string, string>)) : new URLSearchParams(body);
    return [fields.get('client_id') ?? null, fields.get('client_secret') ?? null];
  }

  effect(['DISABLE_REGISTRATION'], 'nobody registers by themselves, but for the first user [DE11, DE12]', async () => {
    await using own = await testDatabase();
    await using app = await open({ DISABLE_REGISTRATION: 'true' }, { sql: own.sql });
    expect((await app.client().post('/auth/register', newcomer())).status).toBe(200);
    expect((await app.client().post('/auth/register', newcomer())).status).toBe(400);
    expect((await own.sql`select from users`).count).toBe(1);
  });
  effect(['ORGANIZATIONS_PER_OWNER'], 'who owns so many makes no further one', async () => {
    await using app = await open({ ORGANIZATIONS_PER_OWNER: '2' });
    const owner = await app.signUp();
    const statuses = [];
    for (let n = 0; n < 2; n += 1) statuses.push((await owner.client.post('/orgs', { name: 'One more' })).status);
    expect(statuses).toEqual([201, 400]);
  });
  effect(['DISALLOW_PLUS'], 'an address with a plus sign is refused [DE14]', async () => {
    await using app = await open({ DISALLOW_PLUS: 'true' });
    const plus = () => ({ ...newcomer(), email: `a+${newId()}@example.com` });
    expect((await app.client().post('/auth/register', plus())).status).toBe(400);
    expect((await base.client().post('/auth/register', plus())).status).toBe(200);
  });
  effect(
    Object.keys(OIDC) as SettingName[],
    'login by generic OIDC, where nobody may register otherwise too [DE13, DE15, DE16, DE17, DE18, DE19, DE20, DE21]',
    async () => {
      outside.on('POST login.example/token', () => ({ json: { access_token: 'the-token', token_type: 'Bearer' } }));
      outside.on('GET login.example/me', () => ({ json: { sub: newId(), email: `${newId()}@example.com`, email_verified: true, name: 'Ann' } }));
      await using app = await open({ ...OIDC, DISABLE_REGISTRATION: 'true' });
      const { client, page, answer, asked } = await comeBack(app, 'generic', 'login.example');
      expect([page.origin + page.pathname, page.searchParams.get('client_id'), page.searchParams.get('scope')]).toEqual([
        OIDC.SERVICE_OAUTH_AUTH_URL,
        'the-client',
        'openid email',
      ]);
      expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /token', 'GET /me']);
      expect(credentials(asked[0]!)).toEqual(['the-client', 'the-secret']);
      const registered = await client.post('/auth/register', { provider: 'GENERIC', providerToken: answer.body.token, company: 'Acme' });
      expect(registered.status).toBe(200);
      await using off = await open({ ...OIDC, SERVICE_GENERIC_OAUTH: 'false' });
      expect((await off.client().get('/auth/oauth/generic')).status).toBe(404);
    },
  );
  const APPS = [
    ['github', 'github.com', ['GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET'], undefined, ''],
    ['google', 'accounts.google.com', ['YOUTUBE_CLIENT_ID', 'YOUTUBE_CLIENT_SECRET'], undefined, ''],
    ['facebook', 'graph.facebook.com', ['FACEBOOK_APP_ID', 'FACEBOOK_APP_SECRET'], 'FACEBOOK_SSO_ENABLED', ' [DE22]'],
    ['x', 'api.x.com', ['X_CLIENT_ID', 'X_CLIENT_SECRET'], 'X_SSO_ENABLED', ' [DE23]'],
    ['linkedin', 'www.linkedin.com', ['LINKEDIN_CLIENT_ID', 'LINKEDIN_CLIENT_SECRET'], 'LINKEDIN_SSO_ENABLED', ' [DE24]'],
  ] as const;
  for (const [provider, host, [id, secret], flag, ids] of APPS)
    effect([id, secret, ...(flag ? [flag] : [])], `login by ${provider}${ids}`, async () => {
      const issuer = `https://${host}`;
      outside.on(`GET ${host}/.well-known/openid-configuration`, () => ({
        json: {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        },
      }));
      outside.on(host, () => ({ status: 400, json: { error: 'invalid_grant' } }));
      const app = { [id]: 'the-client', [secret]: 'the-secret' };
      await using on = await open({ ...app, ...(flag && { [flag]: 'true' }) });
      const { page, asked } = await comeBack(on, provider, host);
      expect(page.searchParams.get('client_id')).toBe('the-client');
      expect(credentials(asked.findLast(({ path }) => !path.startsWith('/.well-known'))!)).toEqual(['the-client', 'the-secret']);
      const without: Env[] = [{ [id]: 'the-client', ...(flag && { [flag]: 'true' }) }, ...(flag ? [app] : [])];
      for (const env of without) {
        await using off = await open(env);
        expect([env, (await off.client().get(`/auth/oauth/${provider}`)).status]).toEqual([env, 404]);
      }
    });
});

describe('outbound requests', () => {
  effect(['WEBHOOK_TIMEOUT_MS'], 'one attempt takes no longer [WH34]', async () => {
    const answer = await endsFirst({ WEBHOOK_TIMEOUT_MS: '200' }, (client, url) => client.post('/webhooks/send', { url }));
    expect(answer).toMatchObject({ body: { success: false, status: 0, error: 'timeout' } });
  });
  effect(['OUTBOUND_HTTP_TIMEOUT_MS'], 'any other request takes no longer [OB10]', async () => {
    const answer = await endsFirst({ OUTBOUND_HTTP_TIMEOUT_MS: '200' }, (client, url) => client.get(`/integrations/social/mastodon?externalUrl=${url}`));
    expect((answer as { status: number }).status).toBe(400);
  });
  effect(['SSRF_ALLOWED_PRIVATE_CIDRS'], 'private ranges that may be called', async () => {
    await using receiver = await startReceiver();
    const sent = async (SSRF_ALLOWED_PRIVATE_CIDRS: string) => {
      await using app = await open({ SSRF_ALLOWED_PRIVATE_CIDRS });
      return (await at(app).post('/webhooks/send', { url: receiver.url })).body.success;
    };
    expect([await sent('127.0.0.1/32'), await sent('10.0.0.0/8')]).toEqual([true, false]);
  });
  effect(['OPERATOR_ALLOWED_PRIVATE_CIDRS'], 'private ranges that settings of the operator may call, and no organization', async () => {
    await using receiver = await startReceiver({ answer: (response) => void response.writeHead(404).end() });
    const { hostname, port } = new URL(receiver.url);
    await using app = await open({
      SSRF_ALLOWED_PRIVATE_CIDRS: '10.0.0.0/8',
      OPERATOR_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32',
    });
    const storage = {
      domain: 'storage',
      providerId: 's3_compatible',
      credentials: { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' },
      options: { endpoint: `http://${hostname}:${port}`, bucket: 'files' },
    };
    const asked = async (ask: Promise<unknown>) => {
      const before = receiver.ledger.length;
      await ask;
      return receiver.ledger.length > before;
    };
    expect(await asked(at(app).post('/webhooks/send', { url: receiver.url }))).toBe(false);
    expect(await asked(at(app).post('/providers/settings/test', storage))).toBe(false);
    expect((await at(app).post('/providers/settings', storage)).body).toMatchObject({ code: 'blocked_url' });
    const made = await at(app).post('/admin/providers/settings', storage);
    expect(made.status).toBe(201);
    try {
      expect(await asked(at(app).post(`/admin/providers/settings/${made.body.id}/test`))).toBe(true);
      expect(await asked(at(app).post('/admin/providers/settings/test', storage))).toBe(true);
      const upload = formOf(await picture(8, 8), { name: 'a.png' });
      expect(await asked(at(app).post('/files/upload-simple', upload))).toBe(true);
      expect(await asked(at(app).post('/webhooks/send', { url: receiver.url }))).toBe(false);
    } finally {
      await at(app).delete(`/admin/providers/settings/${made.body.id}`);
    }
  });
  effect(['EGRESS_SIDECARS', 'EGRESS_ECHO_URL'], 'routes of those named may use a proxy there, and ask there where they come out', async () => {
    await using proxy = await startProxy({ protocol: 'socks5', refuses: 2 });
    const tried = async (env: Env, path = '/providers/settings/test') => {
      await using app = await open({ SSRF_ALLOWED_PRIVATE_CIDRS: '10.0.0.0/8', EGRESS_ECHO_URL: 'https://93.184.215.14/echo', ...env });
      const setting = { domain: 'vpn', providerId: 'custom', credentials: { protocol: 'socks5', host: '127.0.0.1', port: String(proxy.port) } };
      await at(app).post(path, setting);
      return proxy.asked.splice(0).join();
    };
    const place = `127.0.0.1:${proxy.port}`;
    expect(await tried({})).toBe('');
    expect(await tried({ EGRESS_SIDECARS: place })).toBe('');
    expect(await tried({ EGRESS_SIDECARS: place }, '/admin/providers/settings/test')).toContain('93.184.215.14');
    expect(await tried({ EGRESS_SIDECARS: `${newId()}@${place}` })).toBe('');
    expect(await tried({ EGRESS_SIDECARS: `${newId()}@${place},${ann.orgId}@${place}` })).toContain('93.184.215.14');
  });
});

describe('channels and posts', () => {
  const NOW = { type: 'now', date: '2026-01-01T00:00:00Z', shortLink: false, tags: [] };
  effect(['MASTODON_URL', 'MASTODON_CLIENT_ID', 'MASTODON_CLIENT_SECRET'], 'one click connects with the app of the operator', async () => {
    outside.on('social.example', () => ({ status: 400, json: { error: 'invalid_grant' } }));
    await using app = await open({ MASTODON_URL: 'https://social.example', MASTODON_CLIENT_ID: 'the-client', MASTODON_CLIENT_SECRET: 'the-secret' });
    const begun = await at(app).get('/integrations/social/mastodon?externalUrl=https://social.example');
    const page = new URL(begun.body.url);
    expect([page.origin, page.searchParams.get('client_id')]).toEqual(['https://social.example', 'the-client']);
    await at(app).post('/integrations/social-connect/mastodon', { code: 'the-code', state: page.searchParams.get('state') });
    expect(outside.to('social.example').find(({ path }) => path === '/oauth/token')!.body).toContain('the-secret');
  });
  effect(['INTEGRATION_RETURN_URL_ALLOWLIST'], 'a connect flow returns there, and to no other origin [DE25]', async () => {
    const ask = async (env: Env) => {
      const asked = { MASTODON_URL: 'https://social.example', MASTODON_CLIENT_ID: 'c', MASTODON_CLIENT_SECRET: 'the-secret', ...env };
      await using app = await open(asked);
      return (
        await at(app).get(`/integrations/social/mastodon?externalUrl=https://social.example&returnUrl=${encodeURIComponent('https://partner.example/x')}`)
      ).status;
    };
    expect([await ask({}), await ask({ INTEGRATION_RETURN_URL_ALLOWLIST: 'https://partner.example' })]).toEqual([400, 200]);
  });
  effect(['RESTRICT_UPLOAD_DOMAINS', 'REMINDER_HORIZON_HOURS'], 'media come from there alone; what is due later than that waits in its row', async () => {
    await using product = await whole({ RESTRICT_UPLOAD_DOMAINS: 'cdn.example', REMINDER_HORIZON_HOURS: '2' }, { sandbox: true });
    const { client } = await product.signUp();
    const schedule = async (hours: number, image: object[] = []) => {
      const channel = await client.post('/integrations/social-connect/sandbox', { fields: { name: newId() }, allowPreview: true });
      const posts = [{ integration: { id: channel.body.id }, value: [{ content: 'Hi', image }], settings: {} }];
      const { status, body } = await client.post('/posts', { ...NOW, type: 'schedule', date: new Date(Date.now() + hours * 3_600_000).toISOString(), posts });
      const reminders = await product.db.sql`select from actor_reminders where id like ${`%${channel.body.id}`} and name = 'due'`;
      return { status, code: body.code as unknown, reminders: reminders.count };
    };
    expect(await schedule(1)).toMatchObject({ status: 201, reminders: 1 });
    expect(await schedule(3)).toMatchObject({ status: 201, reminders: 0 });
    expect(await schedule(1, [{ path: 'https://elsewhere.example/a.png' }])).toMatchObject({ status: 400, code: 'media_domain_not_allowed' });
  });
  effect(['PROVIDER_CALLS_IN_FLIGHT'], 'so many calls are under way at a time', async () => {
    const full = Promise.withResolvers<void>();
    let [underWay, most, taken] = [0, 0, 0];
    await using network = await startReceiver({
      answer(response, { path, headers, body }) {
        const said = (value: object) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
        if (path === '/accounts') return said({ id: 'a', token: JSON.parse(String(body)).name });
        if (path === '/me') return said({ id: headers.authorization, name: 'Ann' });
        most = Math.max(most, (underWay += 1));
        void full.promise.then(() =>
          setTimeout(() => {
            underWay -= 1;
            taken += 1;
            said({ id: newId(), url: 'https://sandbox.example/1' });
          }, 20),
        );
      },
    });
    await using product = await whole({ PROVIDER_CALLS_IN_FLIGHT: '2' }, { sandboxUrl: network.url });
    // of organizations of their own: one alone leaves turns for whoever comes
    const channels = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const { client } = await product.signUp();
        return { client, id: (await client.post('/integrations/social-connect/sandbox', { fields: { name: newId() }, allowPreview: true })).body.id };
      }),
    );
    for (const { client, id } of channels)
      expect((await client.post('/posts', { ...NOW, posts: [{ integration: { id }, value: [{ content: 'Hi' }], settings: {} }] })).status).toBe(201);
    await eventually('all have begun', async () => (await product.db.sql`select from channels where slot_incarnation is not null`).count === 6);
    await eventually('as many as may be are under way', () => underWay === 2);
    full.resolve();
    await eventually('all are taken', () => taken === 6);
    expect(most).toBe(2);
  });
  effect(['POST_LATE_SECONDS'], 'what is due for longer is told as late', async () => {
    const channelId = newId();
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, next_due_at)
      values (${channelId}, ${ann.orgId}, 'sandbox', 'v1', ${channelId}, 'c', 'v2:', now() - interval '30 s')`;
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
      values (${newId()}, ${ann.orgId}, ${channelId}, 'g', 'QUEUE', 'scheduled', 'Hi', now() - interval '30 s', now() - interval '30 s')`;
    const late = async (env: Env) => {
      await using app = await open(env);
      return (await at(app).get('/admin/queue')).body.late;
    };
    expect([await late({ POST_LATE_SECONDS: '10' }), await late({ POST_LATE_SECONDS: '86400' })]).toEqual([1, 0]);
  });
});

describe('stock media', () => {
  const KEYS = { unsplash: 'UNSPLASH_ACCESS_KEY', pexels: 'PEXELS_API_KEY', pixabay: 'PIXABAY_API_KEY', giphy: 'GIPHY_API_KEY' } as const;
  const HOST = { unsplash: 'api.unsplash.com', pexels: 'api.pexels.com', pixabay: 'pixabay.com', giphy: 'api.giphy.com' };
  effect([...Object.values(KEYS), 'OPENVERSE_CLIENT_ID', 'OPENVERSE_CLIENT_SECRET'], 'each source is asked with its key [DE43]', async () => {
    await using app = await open({
      ...Object.fromEntries(Object.entries(KEYS).map(([source, name]) => [name, `key-of-${source}`])),
      OPENVERSE_CLIENT_ID: 'ov-client',
      OPENVERSE_CLIENT_SECRET: 'ov-secret',
    });
    for (const source of Object.keys(KEYS) as (keyof typeof KEYS)[]) {
      await at(app).get(`/files/stock?source=${source}&q=lake`);
      const [{ headers, query }] = outside.to(HOST[source]) as [Visit];
      expect([source, `${headers.authorization} ${query}`]).toEqual([source, expect.stringContaining(`key-of-${source}`)]);
    }
    await at(app).get('/files/stock?source=openverse&q=lake');
    expect([...new URLSearchParams(outside.to('api.openverse.org')[0]!.body)]).toEqual(
      expect.arrayContaining([
        ['client_id', 'ov-client'],
        ['client_secret', 'ov-secret'],
      ]),
    );
  });
});

describe('mail', () => {
  const FROM = { EMAIL_FROM_ADDRESS: 'from@example.com', EMAIL_FROM_NAME: 'The Sender' };
  /** Registers somebody and lets the mail be sent. */
  async function send(env: Env, arrived: () => boolean): Promise<void> {
    await using app = await open({ ...FROM, ...env });
    await using _sender = app.context.email.startSender({ restMs: 20 })!;
    expect((await app.client().post('/auth/register', newcomer())).body).toEqual({ activate: true });
    await eventually('the mail leaves', arrived);
  }
  const PROVIDERS: readonly [Env, string, RegExp][] = [
    [{ EMAIL_PROVIDER: 'resend', EMAIL_API_KEY: 're_key' }, 'api.resend.com', /re_key[^]*The Sender[^]*from@example\.com/],
    [{ EMAIL_PROVIDER: 'sendgrid', EMAIL_API_KEY: 'SG.key', EMAIL_REGION: 'eu' }, 'api.eu.sendgrid.com', /SG\.key/],
    [
      { EMAIL_PROVIDER: 'mailgun', EMAIL_API_KEY: 'key-m', EMAIL_DOMAIN: 'mg.example.com', EMAIL_REGION: 'eu' },
      'api.eu.mailgun.net',
      /\/v3\/mg\.example\.com\/messages/,
    ],
    [{ EMAIL_PROVIDER: 'postmark', EMAIL_API_KEY: 'pm-key', EMAIL_STREAM: 'the-stream' }, 'api.postmarkapp.com', /pm-key[^]*the-stream/],
    [
      { EMAIL_PROVIDER: 'ses', EMAIL_API_KEY: 'aws-secret', EMAIL_ACCESS_KEY_ID: 'AKIDEXAMPLE', EMAIL_REGION: 'eu-west-1', EMAIL_STREAM: 'the-set' },
      'email.eu-west-1.amazonaws.com',
      /AKIDEXAMPLE[^]*the-set/,
    ],
  ];
  effect(
    ['EMAIL_PROVIDER', 'EMAIL_FROM_ADDRESS', 'EMAIL_FROM_NAME', 'EMAIL_API_KEY', 'EMAIL_ACCESS_KEY_ID', 'EMAIL_DOMAIN', 'EMAIL_REGION', 'EMAIL_STREAM'],
    'mail leaves by that provider, with these',
    async () => {
      for (const [env, host, seen] of PROVIDERS) {
        outside.on(host, () => ({ status: 500 }));
        await send(env, () => outside.to(host).length > 0);
        const [{ headers, path, body }] = outside.to(host) as [Visit];
        expect(`${path} ${JSON.stringify(headers)} ${body}`).toMatch(seen);
      }
    },
  );
  effect(['EMAIL_WEBHOOK_SECRET'], 'proves delivery events', async () => {
    await using app = await open({ ...FROM, EMAIL_PROVIDER: 'postmark', EMAIL_API_KEY: 'pm-key', EMAIL_WEBHOOK_SECRET: 'a long secret of postmark' });
    const tell = async (secret: string) =>
      (await app.client().post('/webhooks/email', { RecordType: 'Delivery', MessageID: newId() }, { 'x-webhook-secret': secret })).status;
    expect(await tell('a long secret of postmark')).toBe(200);
    expect(await tell('another')).toBeGreaterThanOrEqual(400);
  });
  effect(
    ['EMAIL_SMTP_HOST', 'EMAIL_SMTP_PORT', 'EMAIL_SMTP_SECURE', 'EMAIL_SMTP_USER', 'EMAIL_SMTP_PASSWORD'],
    'mail leaves by that server, with that login, encrypted unless told otherwise',
    async () => {
      await using server = await startSmtp();
      const env = {
        EMAIL_PROVIDER: 'smtp',
        EMAIL_SMTP_HOST: '127.0.0.1',
        EMAIL_SMTP_PORT: String(server.port),
        EMAIL_SMTP_USER: 'the-user',
        EMAIL_SMTP_PASSWORD: 'the-password',
      };
      await send({ ...env, EMAIL_SMTP_SECURE: 'none' }, () => server.mails.length > 0);
      expect(server.mails).toMatchObject([{ user: 'the-user', password: 'the-password', from: 'from@example.com' }]);
      const before = server.connections;
      await send(env, () => server.connections > before && server.open === 0); // it offers no encryption, so nothing is said to it
      expect(server.mails).toHaveLength(1);
    },
  );
});

describe('payments', () => {
  let world: PayingApp;
  const PACKS = [
    ['storage_gb', 'extra_storage', 'ADDON_STORAGE_GB_PER_PACK', 'ADDON_STORAGE_PRICE_CENTS', 101, '[AD1]'],
    ['channel', 'extra_channels', 'ADDON_CHANNELS_PER_PACK', 'ADDON_CHANNELS_PRICE_CENTS', 103, '[AD3]'],
    ['team_members', 'extra_team_seats', 'ADDON_TEAM_SEATS_PER_PACK', 'ADDON_TEAM_SEATS_PRICE_CENTS', 104, '[AD4]'],
    ['posts_per_month', 'extra_posts', 'ADDON_POSTS_PER_PACK', 'ADDON_POSTS_PRICE_CENTS', 105, '[AD5]'],
    ['webhooks', 'extra_webhooks', 'ADDON_WEBHOOKS_PER_PACK', 'ADDON_WEBHOOKS_PRICE_CENTS', 107, '[AD7]'],
  ] as const;
  beforeAll(async () => {
    const packs = PACKS.flatMap(([, , size, price, n]) => [
      [size, String(n)],
      [price, String(10 * n)],
    ]);
    world = stack.use(
      await payingApp({
        env: {
          ...Object.fromEntries(packs),
          PAYMENTS_DISCOUNT_ID: 'the-coupon',
          PAYMENTS_SERVICE_NAME: 'acme',
          BILLING_FEEDBACK_EMAIL: 'money@example.com',
          EMAIL_PROVIDER: 'smtp',
          EMAIL_SMTP_HOST: '127.0.0.1',
          EMAIL_FROM_ADDRESS: 'no-reply@example.com',
        },
      }),
    );
  });
  /** Somebody who has had a trial, and pays by the month. */
  async function paying(): Promise<SignedUp> {
    const bob = await world.signUp();
    await world.sql`update organizations set allow_trial = false where id = ${bob.orgId}`;
    await world.buy(bob);
    return bob;
  }

  effect(['PAYMENTS_PUBLISHABLE_KEY', 'PAYMENTS_SECRET_KEY', 'PAYMENTS_SIGNING_KEY'], 'billing is on; calls and events are proven by the keys', async () => {
    const sold = async (env: Env) => {
      await using app = await testApp({ sql: world.sql, env, paymentsServer: world.processor.url });
      const bob = await app.signUp();
      return (await bob.client.post('/billing/subscribe', { billing: 'PRO', period: 'MONTHLY' })).status;
    };
    expect(await sold(WITH_BILLING)).toBe(200);
    expect(await sold({ ...WITH_BILLING, PAYMENTS_SECRET_KEY: 'sk_of_another' })).not.toBe(200);
    expect(await sold({})).not.toBe(200);
    await paying();
    const event = world.processor.told[0]!;
    expect((await world.processor.deliver(world.app.address, event)).status).toBe(200);
    await using deaf = await testApp({
      sql: world.sql,
      env: { ...WITH_BILLING, PAYMENTS_SIGNING_KEY: 'whsec_of_another' },
      paymentsServer: world.processor.url,
    });
    expect((await world.processor.deliver(deaf.address, event)).status).toBe(400);
  });
  effect(
    ['PAYMENTS_DISCOUNT_ID', 'PAYMENTS_SERVICE_NAME', 'BILLING_FEEDBACK_EMAIL'],
    'the coupon that is offered, the name at the processor, and who hears why somebody leaves',
    async () => {
      const bob = await paying();
      expect(world.processor.asked.findLast(({ call }) => call === 'POST /v1/customers')!.fields).toMatchObject({ metadata: { service: 'acme' } });
      const { offerCoupon: token } = (await bob.client.get('/billing/check-discount')).body;
      await bob.client.post('/billing/apply-discount', { token });
      expect(world.processor.asked.findLast(({ call }) => call === 'POST /v1/subscriptions/:id')!.fields['discounts']).toEqual({ 0: { coupon: 'the-coupon' } });
      await bob.client.post('/billing/cancel', { feedback: 'Too dear' });
      expect((await world.sql`select to_address from emails where template = 'subscription-cancelled'`).map(({ to_address }) => to_address)).toEqual([
        'money@example.com',
      ]);
    },
  );
  for (const [type, column, size, price, n, id] of PACKS)
    effect([size, price], `a pack has that size and costs that much ${id}`, async () => {
      const bob = await world.signUp();
      await subscribe(world.sql, bob.orgId, { tier: 'PRO', packs: { [column]: 2 } });
      expect((await bob.client.get('/billing')).body.limits[type]).toMatchObject({ addons: 2 * n });
      expect((await bob.client.get('/billing/packages')).body.addons).toContainEqual({ type, packSize: n, priceCents: 10 * n });
    });
});

describe('telemetry', () => {
  effect(['METRICS_TOKEN'], 'opens the numbers for callers from elsewhere', async () => {
    await using app = await open({ METRICS_TOKEN: 'the-token-of-metrics' });
    const ask = async (headers: Record<string, string>) => (await app.client().get('/metrics', { 'x-forwarded-for': '203.0.113.9', ...headers })).status;
    expect([await ask({}), await ask({ authorization: 'Bearer the-token-of-metrics' })]).toEqual([404, 200]);
  });
});

describe('what is forgotten, and when', () => {
  const DAYS = {
    EMAIL_LOG_RETENTION_DAYS: 11,
    ERRORS_RETENTION_DAYS: 12,
    MULTIPART_UPLOAD_RETENTION_DAYS: 13,
    SOFT_DELETE_RETENTION_DAYS: 14,
    IP_RETENTION_DAYS: 15,
    AUDIT_RETENTION_DAYS: 16,
  };
  let product: Product;
  let sql: Product['db']['sql'];
  let processor: PaymentProcessor;
  let bob: SignedUp;
  let sweeps: ReadonlyMap<string, Sweep>;
  beforeAll(async () => {
    processor = stack.use(await startPaymentProcessor({ signingKey: WITH_BILLING.PAYMENTS_SIGNING_KEY }));
    product = stack.use(
      await whole(
        { ...WITH_BILLING, ...Object.fromEntries(Object.entries(DAYS).map(([name, days]) => [name, String(days)])) },
        { paymentsServer: processor.url },
      ),
    );
    sql = product.db.sql;
    await sql`insert into leases (name, holder, expires_at) values ('sweeper', 'nobody', 'infinity') on conflict (name) do update set holder = 'nobody', expires_at = 'infinity'`; // its own timer stands aside
    bob = await product.signUp();
    sweeps = new Map(sweepsOf(product.context).map((sweep) => [sweep.name, sweep]));
  });
  /** Makes rows of these ages in days, lets one sweep run, and answers the ages that are left. */
  async function left(name: string, ages: readonly number[], make: (age: number, id: string) => Promise<unknown>, table: string, column = 'id') {
    const ids = new Map(ages.map((age) => [newId(), age]));
    for (const [id, age] of ids) await make(age, id);
    await sweeps.get(name)!.run(500);
    const there = new Set((await sql`select ${sql(column)}::text as id from ${sql(table)}`).map(({ id }) => id as string));
    return [...ids].filter(([id]) => there.has(id)).map(([, age]) => age);
  }
  const ago = (days: number) => sql`now() - ${days}::float8 * interval '1 day'`;
  const org = (id: string) => sql`insert into organizations (id, name) values (${id}, 'Old')`;
  const user = (id: string) => sql`insert into users (id, email, provider_name, provider_id) values (${id}, ${`${id}@example.com`}, 'local', ${id})`;
  const hash = (id: string) => Buffer.from(id);
  const channel = (id: string) => sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials) values (${id}, ${bob.orgId}, 'sandbox', 'v1', ${id}, 'c', 'v2:')`;
  const session = (id: string, expires: number, userId = bob.userId) => sql`
    insert into sessions (id, user_id, token_hash, expires_at, last_used_at) values (${id}, ${userId}, ${hash(id)}, ${ago(expires)}, ${ago(expires)})`;
  const file = (id: string, created: number, deleted: number | null, more: object = {}) =>
    sql`
    insert into files ${sql({ id, org_id: bob.orgId, name: 'a', original_name: 'a', storage_key: `x/${id}.png`, kind: 'image', mime: 'image/png', bytes: 1, ...more })}
    returning id`.then(() => sql`update files set created_at = ${ago(created)}, deleted_at = ${deleted === null ? null : ago(deleted)} where id = ${id}`);

  const SWEPT: Record<string, () => Promise<void>> = {
    'idempotency-keys': async () =>
      expect(
        await left(
          'idempotency-keys',
          [1.1, 0.9],
          (age, id) => sql`
          insert into idempotency_keys (org_id, scope, key, body_hash, claim, claimed_until, created_at) values (${bob.orgId}, 'POST /x', ${id}, ${hash(id)}, ${newId()}, now(), ${ago(age)})`,
          'idempotency_keys',
          'key',
        ),
      ).toEqual([0.9]),
    logins: async () =>
      expect(
        await left(
          'logins',
          [1, -1],
          (age, id) => sql`
          insert into connect_states (state_hash, org_id, user_id, provider_id, provider_version, sealed, expires_at) values (${hash(id)}, ${bob.orgId}, ${bob.userId}, ${id}, 'v1', '', ${ago(age)})`,
          'connect_states',
          'provider_id',
        ),
      ).toEqual([-1]),
    oauth: async () =>
      expect(
        await left(
          'oauth',
          [31, 29],
          (age, id) => sql`
          insert into oauth_clients (id, client_id, name, redirect_uris, scope, created_at) values (${id}, ${id}, 'App', '{}', '{}', ${ago(age)})`,
          'oauth_clients',
        ),
      ).toEqual([29]),
    'provider-logins': async () =>
      expect(
        await left(
          'provider-logins',
          [1, -1],
          (age, id) => sql`
          insert into login_states (hash, kind, browser_hash, provider_id, sealed, expires_at) values (${hash(id)}, 'consent', ${hash(id)}, ${id}, '', ${ago(age)})`,
          'login_states',
          'provider_id',
        ),
      ).toEqual([-1]),
    payments: async () => {
      await sql`insert into payment_tasks (id, org_id, kind, subscription_id) values (${newId()}, ${bob.orgId}, 'cancel', 'sub_swept')`;
      await sweeps.get('payments')!.run(500);
      expect(processor.asked.length).toBeGreaterThan(0);
      expect(await sql`select attempts from payment_tasks where subscription_id = 'sub_swept' and attempts = 0`).toEqual([]);
    },
    media: async () => {
      expect(await left('media', [2, 0.5], (age, id) => file(id, age, null, { listed: false, source_url: 'https://example.com/a.png' }), 'files')).toEqual([
        0.5,
      ]);
    },
    lateness: async () =>
      expect(
        await left(
          'lateness',
          [0.2, 0.05],
          (age, id) => sql`insert into lateness (minute, incarnation, buckets) values (${ago(age)}, ${id}, '{1}')`,
          'lateness',
          'incarnation',
        ),
      ).toEqual([0.05]),
    'webhook-deliveries': async () => {
      const webhook = newId();
      await sql`insert into webhooks (id, org_id, name, url) values (${webhook}, ${bob.orgId}, 'Hook', 'https://example.com/')`;
      expect(
        await left(
          'webhook-deliveries',
          [31, 29],
          (age, id) => sql`
          insert into webhook_deliveries (id, org_id, webhook_id, event, body, state, created_at) values (${id}, ${bob.orgId}, ${webhook}, 'ping', '{}', 'succeeded', ${ago(age)})`,
          'webhook_deliveries',
        ),
      ).toEqual([29]);
    },
    audit: async () => {
      expect(
        await left(
          'audit',
          [17, 15],
          (age, id) => sql`insert into audit_log (at, action, resource, resource_id) values (${ago(age)}, 'x.y', 'instance', ${id})`,
          'audit_log',
          'resource_id',
        ),
      ).toEqual([15]);
    },
    'disabled-orgs': async () => {
      const [orgId, channelId] = [newId(), newId()];
      await org(orgId);
      await channel(channelId);
      await sql`update channels set org_id = ${orgId}, next_due_at = now() + interval '1 day' where id = ${channelId}`;
      await sql`update organizations set disabled_at = now() where id = ${orgId}`;
      expect(await sweeps.get('disabled-orgs')!.run(500)).toBe(1);
      expect(await sql`select next_due_at from channels where id = ${channelId}`).toEqual([{ next_due_at: null }]);
    },
    impersonations: async () => {
      const of = newId();
      await session(of, -1);
      expect(
        await left(
          'impersonations',
          [1.1, 0.9],
          (age, id) => sql`
          insert into impersonations (id, admin_id, user_id, session_id, reason, expires_at) values (${id}, ${bob.userId}, ${bob.userId}, ${of}, 'x', ${ago(age)})`,
          'impersonations',
        ),
      ).toEqual([0.9]);
    },
    errors: async () =>
      expect(
        await left(
          'errors',
          [13, 11],
          (age, id) => sql`insert into errors (at, incarnation, room, message) values (${ago(age)}, ${id}, 'posts', 'x')`,
          'errors',
          'incarnation',
        ),
      ).toEqual([11]),
    routes: async () => {
      const setting = { domain: 'vpn', providerId: 'custom', credentials: { protocol: 'socks5', host: '127.0.0.1', port: '9' } };
      const { id } = (await bob.client.post('/providers/settings', setting)).body;
      await bob.client.put('/egress', { route: id });
      await sql`update egress_checks set checked_at = now() - interval '1 day'`;
      await sweeps.get('routes')!.run(500);
      expect((await sql`select from egress_checks where setting_id = ${id} and checked_at > now() - interval '1 hour'`).count).toBe(1);
    },
    emails: async () =>
      expect(
        await left(
          'emails',
          [12, 10],
          (age, id) => sql`
          insert into emails (id, to_address, template, status, next_attempt_at, provider_id, provider_version, created_at) values (${id}, 'a@b.co', 'reset', 'sent', null, 'smtp', 'v1', ${ago(age)})`,
          'emails',
        ),
      ).toEqual([10]),
    'requested-mails': async () =>
      expect(
        await left(
          'requested-mails',
          [0],
          (_, id) => sql`insert into mail_requests (id, kind, email, ip) values (${id}, 'reset', 'nobody@example.com', '')`,
          'mail_requests',
        ),
      ).toEqual([]),
    'one-time-codes': async () =>
      expect(
        await left(
          'one-time-codes',
          [1, -1],
          (age, id) => sql`
          insert into one_time_codes (code_hash, kind, user_id, email, expires_at) values (${hash(id)}, 'email', ${bob.userId}, ${id}, ${ago(age)})`,
          'one_time_codes',
          'email',
        ),
      ).toEqual([-1]),
    'pending-users': async () =>
      expect(
        await left(
          'pending-users',
          [8, 6],
          (age, id) =>
            sql`insert into users (id, email, provider_name, provider_id, created_at) values (${id}, ${`${id}@example.com`}, 'local', ${id}, ${ago(age)})`,
          'users',
        ),
      ).toEqual([6]),
    sessions: async () => expect(await left('sessions', [31, 29], (age, id) => session(id, age), 'sessions')).toEqual([29]),
    invitations: async () =>
      expect(
        await left(
          'invitations',
          [1, -1],
          (age, id) => sql`
          insert into invitations (id, org_id, email, role_key, token_hash, invited_by, expires_at) values (${id}, ${bob.orgId}, ${`${id}@example.com`}, 'USER', ${hash(id)}, ${bob.userId}, ${ago(age)})`,
          'invitations',
        ),
      ).toEqual([-1]),
    traces: async () => {
      const ages = [16, 14];
      const ids = ages.map(() => newId());
      for (const [n, id] of ids.entries()) {
        await user(id);
        await sql`update users set ip = '203.0.113.9', agent = 'a browser', created_at = ${ago(ages[n]!)} where id = ${id}`;
        await session(newId(), -1, id);
        await sql`update sessions set ip = '203.0.113.9', user_agent = 'a browser', last_used_at = ${ago(ages[n]!)} where user_id = ${id}`;
      }
      await sweeps.get('traces')!.run(500);
      const kept =
        await sql`select u.ip, u.agent, s.ip as "sessionIp", s.user_agent as "sessionAgent" from users u join sessions s on s.user_id = u.id where u.id = any(${ids}::uuid[]) order by u.created_at desc`;
      expect(kept).toEqual([
        { ip: '203.0.113.9', agent: 'a browser', sessionIp: '203.0.113.9', sessionAgent: 'a browser' },
        { ip: null, agent: null, sessionIp: '', sessionAgent: '' },
      ]);
    },
    'deleted-posts': async () => {
      const channelId = newId();
      await channel(channelId);
      expect(
        await left(
          'deleted-posts',
          [15, 13],
          (age, id) => sql`
          insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, created_at, deleted_at)
          values (${id}, ${bob.orgId}, ${channelId}, 'g', 'PUBLISHED', 'published', 'Hi', ${ago(400)}, ${ago(400)}, ${ago(age)})`,
          'posts',
        ),
      ).toEqual([13]);
    },
    'server-limits': async () => {
      const id = newId();
      await channel(id);
      await sql`update channels set provider_id = 'mastodon' where id = ${id}`;
      await sweeps.get('server-limits')!.run(500);
      const [row] = await sql`select server_limits_due_at > now() + interval '30 minutes' as "isTaken" from channels where id = ${id}`;
      expect(row).toEqual({ isTaken: true });
    },
    contents: async () => {
      const [channelId, id] = [newId(), newId()];
      await channel(channelId);
      await sql`
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
        values (${id}, ${bob.orgId}, ${channelId}, 'g', 'DRAFT', '<p>Hi<script>1</script></p>', now())`;
      await sweeps.get('contents')!.run(500);
      expect(await sql`select content from posts where id = ${id}`).toEqual([{ content: '<p>Hi</p>' }]);
    },
    organizations: async () =>
      expect(
        await left(
          'organizations',
          [31, 29],
          async (age, id) => [await org(id), await sql`update organizations set deleted_at = ${ago(age)} where id = ${id}`],
          'organizations',
        ),
      ).toEqual([29]),
    users: async () =>
      expect(
        await left('users', [31, 29], async (age, id) => [await user(id), await sql`update users set deleted_at = ${ago(age)} where id = ${id}`], 'users'),
      ).toEqual([29]),
    'sandbox-ledger': async () =>
      expect(
        await left(
          'sandbox-ledger',
          [8, 6],
          (age, id) => sql`insert into sandbox_ledger (at, account, step, accepted, answered) values (${ago(age)}, ${id}, 'publish', true, 'ok')`,
          'sandbox_ledger',
          'account',
        ),
      ).toEqual([6]),
  };
  test.each(Object.entries(SWEPT))('the sweep %s', async (_, see) => see());
  test('each sweep there is has its row above, and the host of the actors runs them all', async () => {
    expect([...sweeps.keys()].toSorted()).toEqual(Object.keys(SWEPT).toSorted());
    await sql`delete from leases where name = 'sweeper'`;
    await sql`update cron_runs set last_run_at = null`;
    await eventually('all have run', async () => {
      await product.sweeper.tick();
      const ran = await sql`select name from cron_runs where last_run_at is not null and last_status = 'ok'`;
      return ran.length === Object.keys(SWEPT).length;
    });
  });

  effect(['EMAIL_LOG_RETENTION_DAYS'], 'the mail log [RT5]', () => SWEPT['emails']!());
  effect(['ERRORS_RETENTION_DAYS'], 'error rows [RT6]', () => SWEPT['errors']!());
  effect(['AUDIT_RETENTION_DAYS'], 'the audit log', () => SWEPT['audit']!());
  effect(['IP_RETENTION_DAYS'], 'address and agent of users and sessions [RT10]', () => SWEPT['traces']!());
  effect(['SOFT_DELETE_RETENTION_DAYS'], 'deleted posts and files [RT9]', async () => {
    await SWEPT['deleted-posts']!();
    expect(await left('media', [15, 13], (age, id) => file(id, 400, age), 'files')).toEqual([13]);
  });
  effect(['MULTIPART_UPLOAD_RETENTION_DAYS'], 'abandoned multipart uploads [RT8]', async () => {
    const begun = (age: number, id: string) => sql`
      insert into media_uploads (id, org_id, created_by, name, bytes, mime, storage_id, storage_version, own_storage, storage_key, provider_upload_id, created_at)
      values (${id}, ${bob.orgId}, ${bob.userId}, 'a', 1, 'image/png', 'local', 'v1', false, ${`x/${id}`}, ${id}, ${ago(age)})`;
    expect(await left('media', [14, 12], begun, 'media_uploads')).toEqual([12]);
  });
});

describe('the table', () => {
  const settings = SETTINGS as Record<string, Setting<unknown>>;
  const marked = Object.keys(settings).filter((name) => settings[name]!.later !== undefined);

  test('has every setting that is not marked as later work, and none that is', () => {
    const seen = [...shown, ...Object.keys(ELSEWHERE)];
    expect(Object.keys(settings).filter((name) => !seen.includes(name) && !marked.includes(name))).toEqual([]);
    expect(marked.filter((name) => seen.includes(name))).toEqual([]);
    for (const [file, title] of Object.values(ELSEWHERE)) expect([file, readFileSync(file, 'utf8').includes(`test('${title}`)]).toEqual([file, true]);
  });

  test('what is marked as later work is read by nothing but the configuration', () => {
    const other = ({ type, fallback }: Setting<unknown>): string => {
      if (typeof fallback === 'number') return String(fallback + 1);
      return type === 'true or false' ? String(!fallback) : type === 'URL' ? 'https://other.example' : 'other';
    };
    const usual = readConfig({ JWT_SECRET }).config;
    const changed = readConfig({ JWT_SECRET, ...Object.fromEntries(marked.map((name) => [name, other(settings[name]!)])) }).config;
    const paths = (a: unknown, b: unknown, path: string[] = []): string[][] =>
      isObject(b) && path.join() !== 'social,apps'
        ? Object.keys(b).flatMap((key) => paths(isObject(a) ? a[key] : undefined, b[key], [...path, key]))
        : isDeepStrictEqual(a, b)
          ? []
          : [path];
    const found = paths(usual, changed);
    expect(found).toContainEqual(['social', 'apps']);
    expect(found).toContainEqual(['push', 'projectId']);

    const registered = adapters.map(({ domain, id }) => `${domain}/${id}`);
    expect(Object.keys(changed.social.apps).filter((id) => registered.includes(`social/${id}`))).toEqual([]);
    const sources = ['src', 'api', 'actors', 'sandbox', 'dapr', '.'].flatMap((root) =>
      readdirSync(root, { recursive: root !== '.', encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !(root === 'src' && file.startsWith('config/')))
        .map((file) => readFileSync(join(root, file), 'utf8')),
    );
    const readers = found.filter((path) => {
      const [section = '', key = ''] = [path[0], path.at(-1)];
      const reads = new RegExp(String.raw`\b${section}\.${key}\b|\b${key}\b[^;\n]*= config\.${section}\b|\b${section}: \{[^}]*\b${key}\b[^}]*\}`);
      return path.join() !== 'social,apps' && sources.some((text) => reads.test(text));
    });
    expect(readers).toEqual([]);
  });
});
