import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { appointSuperAdmin } from '../../../src/people/identity/index.ts';
import { type Client, testApp, type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { emptyTables, testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { codeTo } from '../../support/worlds/mail/links.ts';

// Who becomes the first super-admin of an empty instance: whoever brings what only the operator has, or, outside
// production, the first who registers on this machine. It is asked of every way in, each time with nobody there.

const PRODUCTION = {
  NODE_ENV: 'production',
  IS_GENERAL: 'true',
  FRONTEND_URL: 'http://127.0.0.1',
  NEXT_PUBLIC_BACKEND_URL: 'http://127.0.0.1',
  BACKEND_INTERNAL_URL: 'http://127.0.0.1',
};
const MAIL = { off: {}, on: WITH_MAIL };
/** Four for each connection to the database. */
const AT_ONCE = 16;
const MODE = { production: PRODUCTION, development: {} };

let db: TestDatabase;
/** By their settings: who is there stands in the database alone. */
const apps = new Map<string, TestApp>();
beforeAll(async () => void (db = await testDatabase()));
afterAll(async () => {
  for (const app of apps.values()) await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
/** The product with these settings, and nobody in its database. */
async function empty(env: Record<string, string>): Promise<TestApp> {
  await emptyTables(db.sql, 'users', 'organizations', 'audit_log');
  const key = JSON.stringify(env);
  const app = apps.get(key) ?? (await testApp({ sql: db.sql, env }));
  apps.set(key, app);
  return app;
}

const person = (more: object = {}) => ({
  provider: 'LOCAL',
  email: `${randomUUID()}@example.com`,
  password: 'long enough',
  company: 'Acme',
  ...more,
});
const register = (client: Client, more: object = {}, headers: Record<string, string> = {}) =>
  client.post('/auth/register', person(more), headers);
const superAdmins = async ({ context }: TestApp) =>
  (await context.sql<{ email: string }[]>`select email from users where is_super_admin order by email`).map(
    ({ email }) => email,
  );
const activate = async ({ context }: TestApp, client: Client, email: string) =>
  client.post('/auth/activate', { code: await codeTo(context, email, 'activation') });
const tokenOf = async ({ context }: TestApp) => (await context.identity.setupToken())!;

describe.each(['production', 'development'] as const)('in %s', (mode) => {
  describe.each(['off', 'on'] as const)('with mail %s', (mail) => {
    const env = { ...MODE[mode], ...MAIL[mail] };

    test('the holder of the setup token becomes super-admin once active, and the token is invalid afterwards [S30]', async () => {
      const app = await empty(env);
      const [client, email, setupToken] = [app.client(), `${randomUUID()}@example.com`, await tokenOf(app)];
      expect((await register(client, { email, setupToken }, { 'x-forwarded-for': '198.51.100.1' })).status).toBe(200);
      if (mail === 'on') {
        expect(await superAdmins(app)).toEqual([]);
        await activate(app, client, email);
      }
      expect((await client.get('/user/self', { auth: client.cookies.get('auth') })).body).toMatchObject({
        email,
        isSuperAdmin: true,
      });
      const late = await register(app.client(), { setupToken });
      expect([late.status, late.body.errors[0].field]).toEqual([400, 'setupToken']);
      expect([await superAdmins(app), await app.context.identity.setupToken()]).toEqual([[email], undefined]);
    });

    test('one of many concurrent holders of the setup token becomes super-admin [S30, X25]', async () => {
      const app = await empty(env);
      const setupToken = await tokenOf(app);
      const people = Array.from({ length: AT_ONCE }, () => ({
        client: app.client(),
        email: `${randomUUID()}@example.com`,
      }));
      const answers = await Promise.all(people.map(({ client, email }) => register(client, { email, setupToken })));
      if (mail === 'on') await Promise.all(people.map(({ client, email }) => activate(app, client, email)));
      const made = answers.filter(({ status }) => status === 200).length;
      expect(made).toBe(mail === 'on' ? AT_ONCE : 1);
      for (const { status, body } of answers)
        if (status !== 200) expect([status, body.errors[0].field]).toEqual([400, 'setupToken']);
      expect(await superAdmins(app)).toHaveLength(1);
    });

    test.each([
      ['from this machine, by its own name', {}, mode === 'development'],
      ['from this machine, by localhost', { host: 'localhost:3000' }, mode === 'development'],
      ['by a name of the web that leads here', { host: 'attacker.example' }, false],
      ['over a proxy on this machine', { 'x-forwarded-for': '198.51.100.1' }, false],
      ['over a proxy that names its caller otherwise', { forwarded: 'for=198.51.100.1' }, false],
    ])('the first without a token, %s, becomes super-admin there: %s [S30]', async (_, headers, becomes) => {
      const app = await empty(env);
      const people = [0, 1].map(() => ({ client: app.client(), email: `${randomUUID()}@example.com` }));
      for (const { client, email } of people) {
        const { status } = await asked(app, '/auth/register', person({ email }), headers);
        if (mode === 'production' || !('host' in headers) || becomes) expect(status).toBe(200);
        if (status === 200 && mail === 'on') await activate(app, client, email);
      }
      expect(await superAdmins(app)).toEqual(becomes ? [people[0]!.email] : []);
    });
  });

  test('the setup token is equal in each process of a deployment and differs under another JWT_SECRET [S30]', async () => {
    const app = await empty(MODE[mode]);
    const { sql } = app.context;
    await using beside = await testApp({ sql, env: MODE[mode] });
    await using elsewhere = await testApp({
      sql,
      env: { ...MODE[mode], JWT_SECRET: 'the-secret-of-a-deployment-beside-this-one' },
    });
    expect(await tokenOf(beside)).toBe(await tokenOf(app));
    expect(await tokenOf(elsewhere)).not.toBe(await tokenOf(app));
  });

  test.each(['', 'x', '0'.repeat(40)])(
    'a setup token %j is rejected by name, and nobody is created',
    async (setupToken) => {
      const app = await empty(MODE[mode]);
      const { status, body } = await register(app.client(), { setupToken });
      expect([status, body.errors[0].field]).toEqual([400, 'setupToken']);
      expect(await app.context.sql`select 1 from users`).toHaveLength(0);
    },
  );
});

/** By `http` itself: `fetch` writes its own `Host`. */
async function asked(
  app: TestApp,
  path: string,
  body: object,
  headers: Record<string, string>,
): Promise<{ status: number }> {
  const { call } = await import('../../../src/operations/cli/call.ts');
  return call('POST', app.address + path, { body, headers });
}

describe('an instance with registration disabled', () => {
  const closed = { ...PRODUCTION, DISABLE_REGISTRATION: 'true' };
  test('admits the first super-admin by setup token, and nobody else before [S31, DE12]', async () => {
    const app = await empty(closed);
    expect((await app.client().get('/auth/can-register')).body).toEqual({ register: true });
    expect((await register(app.client())).body.message).toBe('Registration is disabled');
    expect((await register(app.client(), { setupToken: await tokenOf(app) })).status).toBe(200);
    expect((await app.client().get('/auth/can-register')).body).toEqual({ register: false });
    expect(await superAdmins(app)).toHaveLength(1);
  });
});

describe('with mail', () => {
  test('a stranger who registers the address of the operator first gains nothing: the token counts for the proven address', async () => {
    const app = await empty({ ...PRODUCTION, ...WITH_MAIL });
    const email = `${randomUUID()}@example.com`;
    await register(app.client(), { email, password: 'of the stranger' });
    const operator = app.client();
    expect(
      (await register(operator, { email, password: 'of the operator', setupToken: await tokenOf(app) })).body,
    ).toEqual({ activate: true });
    expect((await activate(app, operator, email)).body).toEqual({ can: true });
    expect(await superAdmins(app)).toEqual([email]);
    expect(
      (await app.client().post('/auth/login', { provider: 'LOCAL', email, password: 'of the operator' })).status,
    ).toBe(200);
  });
  test('a password reset proves the address too', async () => {
    const app = await empty({ ...PRODUCTION, ...WITH_MAIL });
    const email = `${randomUUID()}@example.com`;
    await register(app.client(), { email, setupToken: await tokenOf(app) });
    await app.client().post('/auth/forgot', { email });
    const token = await codeTo(app.context, email, 'password-reset');
    await app
      .client()
      .post('/auth/forgot-return', { token, password: 'a new password', repeatPassword: 'a new password' });
    expect(await superAdmins(app)).toEqual([email]);
  });
});

describe('a login provider', () => {
  test('makes its first user super-admin only with the claim of the operator', async () => {
    const app = await empty(PRODUCTION);
    const { identity } = app.context;
    const newcomer = () => ({
      providerName: 'google',
      providerId: randomUUID(),
      email: `${randomUUID()}@example.com`,
      name: '',
      company: 'Acme',
      timezone: 'UTC',
      avatarUrl: null,
      ip: '127.0.0.1',
      userAgent: '',
    });
    await identity.registerWithProvider(newcomer());
    expect(await superAdmins(app)).toEqual([]);
    const operator = newcomer();
    await identity.registerWithProvider({ ...operator, claim: { setupToken: await tokenOf(app), isLocal: false } });
    expect(await superAdmins(app)).toEqual([operator.email]);
  });
});

describe('`rookery.mjs admin`', () => {
  test('makes an active user super-admin, and gives the reason when it does not [S211]', async () => {
    const app = await empty({ ...PRODUCTION, ...WITH_MAIL });
    const { sql } = app.context;
    const [client, email] = [app.client(), `${randomUUID()}@example.com`];
    expect(await appointSuperAdmin(sql, email)).toContain('Nobody has registered');
    await register(client, { email });
    expect(await appointSuperAdmin(sql, email)).toContain('not confirmed');
    await activate(app, client, email);
    await sql`
      insert into users (id, email, provider_name, provider_id, activated)
      values (${randomUUID()}, ${email}, 'github', '1', true)`;
    expect(await appointSuperAdmin(sql, email.toUpperCase())).toContain('github, local');
    expect(await appointSuperAdmin(sql, email.toUpperCase(), 'local')).toBeUndefined();
    expect(await sql`select provider_name from users where is_super_admin`).toEqual([{ provider_name: 'local' }]);
    expect(await sql`select user_id, action from audit_log where action = 'user.became_super_admin'`).toEqual([
      { user_id: null, action: 'user.became_super_admin' },
    ]);
  });
});
