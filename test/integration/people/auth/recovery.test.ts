import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId, sha256 } from '../../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';
import { refuseRows } from '../../../support/wire/database/refused-row.ts';
import { codeTo, contentsTo, linkTo } from '../../../support/worlds/mail/links.ts';
import { mailsOf } from '../../../support/worlds/mail/mails.ts';
import { workOf } from '../../../support/worlds/publishing/work.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
/** The same rooms without mail, where who registers is active at once. */
let quiet: TestApp;
let root: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: { ...WITH_MAIL, FRONTEND_URL: 'https://app.example.com' } });
  quiet = await testApp({ sql: db.sql });
  root = await quiet.signUp(); // the first: a super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await quiet[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const address = () => `${randomUUID()}@example.com`;
const login = (email: string, password: string) =>
  app.client().post('/auth/login', { provider: 'local', email, password });
const forgot = (email: string) => app.client().post('/auth/forgot', { email });
const reset = (token: string, password = 'a new password', more: object = {}) =>
  app.client().post('/auth/forgot-return', { token, password, repeatPassword: password, ...more });
const resetCode = async ({ email }: Pick<SignedUp, 'email'>) => {
  await forgot(email);
  return codeTo(app.context, email, 'password-reset');
};

describe('a password reset', () => {
  test('mails the holder of a local account and answers everybody alike [S35, X15]', async () => {
    const bob = await quiet.signUp();
    const [unknown, elsewhere, gone] = [address(), address(), await quiet.signUp()];
    await db.sql`
      insert into users (id, email, provider_name, provider_id, activated)
      values (${newId()}, ${elsewhere}, 'google', ${newId()}, true)`;
    await db.sql`update users set deleted_at = now() where id = ${gone.userId}`;
    for (const email of [bob.email, bob.email.toUpperCase(), unknown, elsewhere, gone.email]) {
      const { status, text, headers } = await forgot(email);
      expect([status, text, headers.getSetCookie()]).toEqual([200, '{"forgot":true}', []]);
    }
    expect((await contentsTo(app.context, bob.email)).map(({ template }) => template)).toEqual([
      'password-reset',
      'password-reset',
    ]); // to the address as it is kept
    for (const email of [unknown, elsewhere, gone.email, bob.email.toUpperCase()])
      expect(await contentsTo(app.context, email)).toEqual([]);
    expect(await linkTo(app.context, bob.email, 'password-reset')).toMatch(
      /^https:\/\/app\.example\.com\/auth\/forgot\/[A-Za-z0-9_-]{43}$/,
    );
  });
  test('sets the password once, ends every session, key and approved app, and mails the owner [S35, SE4]', async () => {
    const bob = await quiet.signUp();
    const key = await bob.withKey();
    const approvals = () => db.sql`select 1 from oauth_authorizations where user_id = ${bob.userId}`;
    const client = newId();
    await db.sql`
      insert into oauth_clients (id, client_id, name, redirect_uris, scope)
      values (${client}, ${client}, 'App', '{}', '{}')`;
    await db.sql`
      insert into oauth_authorizations (id, org_id, user_id, app_id, scope)
      values (${newId()}, ${bob.orgId}, ${bob.userId}, ${client}, '{}')`;
    const code = await resetCode(bob);
    const { status, body, headers } = await reset(code);
    expect([status, body, headers.getSetCookie()]).toEqual([200, { reset: true }, []]);
    expect((await bob.client.get('/user/self')).body.code).toBe('session_revoked');
    expect((await bob.client.post('/auth/refresh')).status).toBe(401);
    expect([(await login(bob.email, bob.password)).status, (await login(bob.email, 'a new password')).status]).toEqual([
      400, 200,
    ]);
    expect((await contentsTo(app.context, bob.email)).at(-1)).toEqual({
      template: 'password-changed',
      data: { name: '', opens: [] },
    });
    expect((await reset(code, 'yet another')).body).toEqual({ reset: false });
    expect((await login(bob.email, 'a new password')).status).toBe(200);
    // whoever knew the old password may have made it
    expect((await key.get('/public/v1/is-connected')).status).toBe(401);
    expect(await approvals()).toHaveLength(0);
    expect(
      await db.sql`
        select user_id, detail from audit_log where action = 'password.reset' and resource_id = ${bob.userId}`,
    ).toEqual([{ user_id: bob.userId, detail: { sessionsRevoked: 1 } }]);
  });
  test('gives no key to a device that was approved before, nor does a change of the password that ends keys', async () => {
    const after: readonly ((bob: SignedUp) => Promise<{ body: unknown }>)[] = [
      async (bob) => reset(await resetCode(bob)),
      ({ client, password }) => {
        const next = 'a new password';
        const words = { oldPassword: password, password: next, repeatPassword: next, revokeKeys: true };
        return client.post('/user/change-password', words);
      },
    ];
    for (const change of after) {
      const bob = await quiet.signUp();
      const { device_code: device, user_code: code } = (await quiet.client().post('/device/code', {})).body;
      expect((await bob.client.post('/device/approve', { user_code: code })).status).toBe(200);
      expect(Object.values((await change(bob)).body as object)).toEqual([true]);
      const asked = await quiet.client().post('/device/token', { device_code: device });
      expect([asked.status, asked.body.error]).toEqual([400, 'access_denied']);
      expect(await db.sql`select from api_keys where user_id = ${bob.userId}`).toHaveLength(0);
    }
  });
  test('ends calendar feeds; a change of the password names them, and ends them with `revokeKeys`', async () => {
    const bob = await quiet.signUp();
    const client = app.client();
    for (const [name, value] of bob.client.cookies) client.cookies.set(name, value);
    const channel = newId();
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${channel}, ${bob.orgId}, 'sandbox', 'v1', 'x', 'Net', 'v2:')`;
    const feed = () => db.sql`
      insert into calendar_feeds (channel_id, user_id, org_id, token_hash)
      values (${channel}, ${bob.userId}, ${bob.orgId}, ${sha256(newId())})`;
    const feeds = async () => (await db.sql`select from calendar_feeds where user_id = ${bob.userId}`).count;
    const opens = async () => {
      const { data } = (await contentsTo(app.context, bob.email)).at(-1)!;
      return 'opens' in data ? data.opens : undefined;
    };
    const change = async (oldPassword: string, password: string, revokeKeys: boolean) => {
      const words = { oldPassword, password, repeatPassword: password, revokeKeys };
      expect((await client.post('/user/change-password', words)).status).toBe(200);
    };

    await feed();
    await change(bob.password, 'a new password', false);
    expect([await opens(), await feeds()]).toEqual([['the calendar feed of Net in Acme Ltd'], 1]);
    await change('a new password', 'a newer password', true);
    expect([await opens(), await feeds()]).toEqual([[], 0]);
    await feed();
    expect((await reset(await resetCode(bob))).body).toEqual({ reset: true });
    expect([await opens(), await feeds()]).toEqual([[], 0]);
  });
  test('is mailed while the request of another cannot be written [S35]', async () => {
    const [bob, eve] = [await quiet.signUp(), await quiet.signUp()];
    const sent = async ({ email }: SignedUp) => (await mailsOf(app.context, email)).length;
    {
      await using _refused = await refuseRows(db.sql, 'insert', 'one_time_codes', `new.user_id = '${eve.userId}'`);
      await forgot(eve.email);
      await forgot(bob.email);
      await eventually('the second one is mailed', async () => (await sent(bob)) === 1);
    }
    await app.context.auth.sendRequested(100);
    await eventually('the first one is mailed', async () => (await sent(eve)) === 1);
  });
  test('is given up when it could not be written for a day, with the address that asked for it [S35]', async () => {
    const [bob, eve] = [await quiet.signUp(), await quiet.signUp()];
    const asked = async (person: SignedUp, hours: number) => {
      const hex = Math.floor(Date.now() - hours * 3_600_000)
        .toString(16)
        .padStart(12, '0');
      const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7${newId().slice(15)}`;
      await db.sql`insert into mail_requests (id, kind, email, ip) values (${id}, 'reset', ${person.email}, '')`;
    };
    const left = async () => (await db.sql`select email from mail_requests`).map((row) => row['email']);
    const sweep = () => app.context.sweeps.find(({ name }) => name === 'requested-mails')!.run(100);
    await asked(bob, 25);
    await asked(eve, 23);
    {
      await using _refused = await refuseRows(db.sql, 'insert', 'one_time_codes', 'true');
      await sweep();
      expect(await left()).toEqual([eve.email]);
    }
    await sweep();
    expect(await left()).toEqual([]);
    expect((await mailsOf(app.context, eve.email)).length).toBe(1);
  });
  test('succeeds once in a hundred concurrent uses of one token [S35, X25]', async () => {
    const bob = await quiet.signUp();
    const code = await resetCode(bob);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => reset(code, `password number ${n}`)));
    const held = answers.flatMap(({ status, body }, n) => (status === 200 && body.reset ? [n] : []));
    expect(held).toHaveLength(1);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect((await login(bob.email, `password number ${held[0]}`)).status).toBe(200);
  });
  test('invalidates every other token of the user [S35]', async () => {
    const bob = await quiet.signUp();
    const older = await resetCode(bob);
    const newer = await resetCode(bob);
    expect(older).not.toBe(newer);
    expect((await reset(older)).body).toEqual({ reset: true });
    expect((await reset(newer, 'of the second')).body).toEqual({ reset: false });
    expect(await db.sql`select 1 from one_time_codes where user_id = ${bob.userId}`).toHaveLength(0);
  });
  test('succeeds for one of two concurrent tokens of the user; the other is reported as expired [S35, X25]', async () => {
    const bob = await quiet.signUp();
    const codes = [await resetCode(bob), await resetCode(bob)];
    const apart = openDatabase({ url: db.url, connections: 2 });
    try {
      const released = gate();
      const holding = gate();
      const held = apart.begin(async (tx) => {
        await tx`select from users where id = ${bob.userId} for no key update`;
        holding.open();
        await released.passed;
      });
      await holding.passed;
      const uses = Promise.all(codes.map((code, n) => reset(code, `password number ${n}`)));
      const waiting = () => waitingOnLock(apart, 'one_time_codes');
      await eventually('both wait for the user', async () => (await waiting()) === 2);
      released.open();
      await held;
      expect((await uses).map(({ status, body }) => `${status} ${body.reset}`).toSorted()).toEqual([
        '200 false',
        '200 true',
      ]);
    } finally {
      await apart.end({ timeout: 1 });
    }
  });
  test('has a token that lives one hour, is stored as a hash and belongs to one user [S35, X19]', async () => {
    const [bob, eve] = [await quiet.signUp(), await quiet.signUp()];
    const code = await resetCode(bob);
    const rows = await db.sql`
      select kind, code_hash, expires_at between now() + interval '59 minutes' and now() + interval '1 hour' as hour
      from one_time_codes
      where user_id = ${bob.userId}`;
    expect(rows).toEqual([{ kind: 'reset', code_hash: sha256(code), hour: true }]);
    await db.sql`update one_time_codes set expires_at = now() where user_id = ${bob.userId}`;
    expect((await reset(code)).body).toEqual({ reset: false });
    expect([(await login(bob.email, bob.password)).status, (await login(eve.email, eve.password)).status]).toEqual([
      200, 200,
    ]);
  });
  test('activates the account as proof of the mailbox and logs out a stranger who registered the address', async () => {
    const email = address();
    await app
      .client()
      .post('/auth/register', { provider: 'LOCAL', email, password: 'of the stranger', company: 'Acme' });
    const activation = await codeTo(app.context, email, 'activation');
    expect((await reset(await resetCode({ email }))).body).toEqual({ reset: true });
    expect([(await login(email, 'a new password')).status, (await login(email, 'of the stranger')).status]).toEqual([
      200, 400,
    ]);
    expect((await app.client().post('/auth/activate', { code: activation })).body).toEqual({ can: false });
  });
  test('leaves no session of the old password during a concurrent login', async () => {
    const bob = await quiet.signUp();
    const code = await resetCode(bob);
    const [, ...logins] = await Promise.all([
      reset(code),
      ...Array.from({ length: 20 }, () => login(bob.email, bob.password)),
    ]);
    const clients = logins
      .filter(({ status }) => status === 200)
      .map(
        ({ headers }) =>
          headers
            .getSetCookie()
            .find((cookie) => cookie.startsWith('auth='))!
            .split(';')[0]!,
      );
    for (const cookie of clients) expect((await app.client().get('/user/self', { cookie })).status).toBe(401);
    expect((await login(bob.email, bob.password)).status).toBe(400);
  });
  test('computes no hash for an unknown token and one for a known one [X15]', async () => {
    const bob = await quiet.signUp();
    const code = await resetCode(bob);
    expect([(await workOf(db, () => reset('x'))).hashes, (await workOf(db, () => reset(code))).hashes]).toEqual([0, 1]);
  });
  test.each([
    ['token', undefined],
    ['token', 1],
    ['token', 'x'.repeat(501)],
    ['password', 'short'],
    ['password', 'x'.repeat(129)],
    ['password', undefined],
    ['repeatPassword', 'another password'],
    ['repeatPassword', undefined],
    ['repeatPassword', null],
    ['email', 'a@example.com'],
  ])('rejects %s = %j by name and keeps the token valid', async (field, value) => {
    const bob = await quiet.signUp();
    const code = await resetCode(bob);
    const { status, body } = await reset(code, 'a new password', { [field]: value });
    expect([status, body.errors.map((error: { field: string }) => error.field)]).toContainEqual(
      expect.arrayContaining([field]),
    );
    expect(status).toBe(400);
    expect((await reset(code)).body).toEqual({ reset: true });
  });
});

describe('a user locked out by a super-admin', () => {
  const change = (id: string, activated: boolean) => root.client.send('PATCH', `/admin/users/${id}`, { activated });
  const resend = (email: string) => app.client().post('/auth/resend-activation', { email });
  const register = (email: string) =>
    app
      .client()
      .post('/auth/register', { provider: 'LOCAL', email, password: 'another password', company: 'Evil Ltd' });

  test('stays locked out by every mail, requested before or after, until a super-admin unlocks [S211]', async () => {
    const bob = await quiet.signUp();
    const code = await resetCode(bob);
    await change(bob.userId, false);
    const held = () =>
      db.sql`
        select password_hash, activated, locked_at, o.name
        from users u, organizations o
        where u.id = ${bob.userId} and o.id = ${bob.orgId}`;
    const before = await held();
    expect((await reset(code)).body).toEqual({ reset: false });
    const count = (await contentsTo(app.context, bob.email)).length;
    await forgot(bob.email);
    await resend(bob.email);
    expect(await contentsTo(app.context, bob.email)).toHaveLength(count);
    expect((await register(bob.email)).body).toEqual({ activate: true }); // as for anybody
    expect((await contentsTo(app.context, bob.email)).at(-1)!.template).toBe('address-known');
    expect(await held()).toEqual(before);
    const refused = await login(bob.email, bob.password);
    expect([refused.status, refused.body.activate, refused.body.message]).toEqual([
      400,
      undefined,
      expect.stringContaining('locked'),
    ]);
    await change(bob.userId, true);
    expect((await login(bob.email, bob.password)).status).toBe(200);
    expect((await reset(await resetCode(bob))).body).toEqual({ reset: true });
  });
  test('gains no access by mail before the address is proven, and activates after the unlock [S34, S211]', async () => {
    const email = address();
    await register(email);
    const code = await codeTo(app.context, email, 'activation');
    const [user] = await db.sql<{ id: string }[]>`select id from users where email = ${email}`;
    await change(user!.id, false);
    expect(
      await db.sql`select user_id, detail from audit_log where action = 'user.changed' and resource_id = ${user!.id}`,
    ).toEqual([{ user_id: root.userId, detail: { activated: false } }]);
    expect((await app.client().post('/auth/activate', { code })).body).toEqual({ can: false });
    await change(user!.id, true);
    expect((await login(email, 'another password')).status).toBe(400); // nobody knows who typed it
    expect((await reset(await resetCode({ email }))).body).toEqual({ reset: true });
    expect((await login(email, 'a new password')).status).toBe(200);
  });
});
