// oxlint-disable max-lines -- one product serves all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { newId, sha256 } from '../../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;

let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  await app.signUp();
  ann = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const address = () => `${randomUUID()}@example.com`;
const person = () => ({ provider: 'LOCAL', email: address(), password: 'long enough', company: 'Acme' });
const login = (client: Client, email: string, password = 'correct horse battery', more = {}) =>
  client.post('/auth/login', { provider: 'local', email, password, ...more });

describe('registration', () => {
  test('creates user, profile, org and ownership, and logs in [S30, US1, US3, GN3, AU1]', async () => {
    const client = app.client();
    const given = { ...person(), name: ' Ann ', timezone: 'Europe/Paris' };
    const { status, body } = await client.post('/auth/register', given);
    expect([status, body]).toEqual([200, { register: true }]);
    expect([...client.cookies.keys()]).toEqual(['auth', 'refresh', 'csrf_token']);
    expect((await client.get('/user/self')).body).toMatchObject({
      email: given.email,
      name: 'Ann',
      timezone: 'Europe/Paris',
      role: 'owner',
      orgName: 'Acme',
      isSuperAdmin: false,
      activated: true,
      providerName: 'local',
    });
    const [user] = await db.sql`
      select u.*, p.* from users u join user_profiles p on p.user_id = u.id where email = ${given.email}`;
    expect(user).toMatchObject({
      provider_name: 'local',
      is_super_admin: false,
      activated: true,
      ip: '127.0.0.1',
      timezone: 'Europe/Paris',
    });
    expect(user!['password_hash']).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(user!['provider_id']).toBe(user!['id']);
  });
  test('makes only the first user of an empty instance super-admin, also when twenty register at once [S30]', async () => {
    const empty = await testDatabase();
    const young = await testApp({ sql: empty.sql });
    try {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => young.client().post('/auth/register', person())),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
      expect(await empty.sql`select count(*)::int as count from users where is_super_admin`).toEqual([{ count: 1 }]);
    } finally {
      await young[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    }
  });
  test('accepts an address once, in any case of letters [S30, US2]', async () => {
    const { status, body } = await app.client().post('/auth/register', { ...person(), email: ann.email.toUpperCase() });
    expect([status, body.message]).toEqual([400, 'Email already exists']);
    const email = address();
    const both = await Promise.all([1, 2, 3, 4].map(() => app.client().post('/auth/register', { ...person(), email })));
    expect(both.map((answer) => answer.status).toSorted()).toEqual([200, 400, 400, 400]);
  });
  test('activates everybody at once without mail [DE10]', async () => {
    const client = app.client();
    await client.post('/auth/register', person());
    expect((await client.get('/user/self')).body.activated).toBe(true);
  });
  test('makes the same address at another provider another user, who cannot log in by password [US2, S38]', async () => {
    const id = newId();
    const email = address();
    await db.sql`
      insert into users (id, email, provider_name, provider_id, activated)
      values (${id}, ${email}, 'github', '77', true)`;
    expect((await login(app.client(), email)).body.message).toBe('Invalid user name or password');
    expect((await app.client().post('/auth/register', { ...person(), email })).status).toBe(200);
  });
  test.each([
    ['provider', undefined, 'required'],
    ['provider', 7, 'invalid_type'],
    ['email', 'x', 'invalid_format'],
    ['email', undefined, 'required'],
    ['email', `${'x'.repeat(250)}@example.com`, 'too_big'],
    ['email', null, 'invalid_type'],
    ['email', ['a@b.co'], 'invalid_type'],
    ['email', 'a@b.co\u0000', 'invalid_characters'],
    ['password', 'short', 'too_small'],
    ['password', 'x'.repeat(129), 'too_big'],
    ['password', undefined, 'required'],
    ['password', { $ne: 1 }, 'invalid_type'],
    ['company', 'ab', 'too_small'],
    ['company', '   ', 'too_small'],
    ['company', 'x'.repeat(129), 'too_big'],
    ['company', 1, 'invalid_type'],
    ['company', undefined, 'required'],
    ['name', 'x'.repeat(101), 'too_big'],
    ['name', false, 'invalid_type'],
    ['timezone', 'Mars/Olympus', 'custom'],
    ['timezone', '+02:00', 'custom'],
    ['timezone', '', 'custom'],
    ['timezone', 1, 'invalid_type'],
    ['returnToken', 'yes', 'invalid_type'],
    ['providerToken', 1, 'invalid_type'],
    ['isSuperAdmin', true, 'unknown'],
    ['role', 'owner', 'unknown'],
    ['organizationId', 'x', 'unknown'],
    ['activated', true, 'unknown'],
    ['id', 'x', 'unknown'],
  ])('rejects %s = %j: %s [S30, S6, X24, US4]', async (field, value, rule) => {
    const before = await db.sql`select count(*) from users`;
    const { status, body } = await app.client().post('/auth/register', { ...person(), [field]: value });
    expect([status, body.errors]).toEqual([400, [{ field, message: expect.any(String), rule }]]);
    expect(await db.sql`select count(*) from users`).toEqual(before);
  });
  test('requires a token for a provider other than `local` [S30]', async () => {
    const { status, body } = await app.client().post('/auth/register', { ...person(), provider: 'no such' });
    expect([status, body.errors]).toEqual([
      400,
      [{ field: 'providerToken', message: expect.any(String), rule: 'required' }],
    ]);
  });
  test('can be disabled except for the first user of an empty instance [S31, DE11, DE12]', async () => {
    const empty = await testDatabase();
    const closed = await testApp({ sql: empty.sql, env: { DISABLE_REGISTRATION: 'true' } });
    try {
      expect((await closed.client().get('/auth/can-register')).body).toEqual({ register: true });
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => closed.client().post('/auth/register', person())),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 400)]);
      expect(answers.find(({ status }) => status === 400)!.body.message).toBe('Registration is disabled');
      expect((await closed.client().get('/auth/can-register')).body).toEqual({ register: false });
      expect((await app.client().get('/auth/can-register')).body).toEqual({ register: true });
    } finally {
      await closed[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    }
  });
  test('rejects a plus before the at sign under DISALLOW_PLUS [S31, DE14]', async () => {
    const strict = await testApp({ sql: db.sql, env: { DISALLOW_PLUS: 'true' } });
    try {
      const register = (email: string) => strict.client().post('/auth/register', { ...person(), email });
      expect((await register(`a+b-${address()}`)).status).toBe(400);
      expect((await register(address())).status).toBe(200);
      expect((await app.client().post('/auth/register', { ...person(), email: `a+b-${address()}` })).status).toBe(200);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
});

describe('login', () => {
  test('answers `login` and sets the cookies [S32, CS1, CS2, CS3, US6]', async () => {
    const client = app.client();
    const { status, body, headers } = await login(client, ann.email.toUpperCase());
    expect([status, body]).toEqual([200, { login: true }]);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(client.csrf).toMatch(/^[0-9a-f]{64}$/);
    expect(headers.getSetCookie().find((cookie) => cookie.startsWith('csrf_token='))).toMatch(/; Max-Age=2592000; /);
    expect((await client.get('/user/self')).body.id).toBe(ann.userId);
    const other = app.client();
    await login(other, ann.email);
    expect(other.csrf).not.toBe(client.csrf);
  });
  test('answers every failure alike: unknown, wrong password, other provider, user without a password [S32, X15]', async () => {
    const answers = await Promise.all([
      login(app.client(), address()),
      login(app.client(), ann.email, 'wrong password'),
      login(app.client(), ann.email, 'correct horse battery', { provider: 'github' }),
      login(app.client(), ''),
      login(app.client(), 'no address'),
      login(app.client(), ann.email, ''),
      login(app.client(), `${ann.email} `),
    ]);
    for (const { status, body } of answers)
      expect([status, body]).toEqual([
        400,
        {
          statusCode: 400,
          error: 'Bad Request',
          message: 'Invalid user name or password',
          msg: 'Invalid user name or password',
          code: 'invalid_request',
        },
      ]);
  });
  test('reports an account that is not activated [S32]', async () => {
    const bob = await app.signUp();
    await db.sql`update users set activated = false where id = ${bob.userId}`;
    expect((await login(app.client(), bob.email)).body).toMatchObject({ activate: true, statusCode: 400 });
    expect((await login(app.client(), bob.email, 'wrong password')).body.activate).toBeUndefined();
  });
  test('refuses a deleted user, whose sessions are invalid too [S32]', async () => {
    const bob = await app.signUp();
    await db.sql`update users set deleted_at = now() where id = ${bob.userId}`;
    expect((await login(app.client(), bob.email)).status).toBe(400);
    expect((await bob.client.get('/user/self')).status).toBe(401);
  });
  test('adds tokens for clients without cookies on `returnToken` [S33, S29, S250, CS7]', async () => {
    const { body, headers } = await login(app.client(), ann.email, undefined, { returnToken: true });
    expect(body).toEqual({
      login: true,
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      expiresIn: 2_592_000,
      csrfToken: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(headers.get('auth')).toBeNull();
    const mobile = app.client();
    for (const header of [body.accessToken, `Bearer ${body.accessToken}`]) {
      const answer = await mobile.get('/user/self', { auth: header });
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([200, []]);
    }
    expect((await mobile.post('/user/api-keys', { name: 'mobile' }, { auth: body.accessToken })).status).toBe(201);
  });
  test('returns the token in the header `auth` under NOT_SECURED [S33]', async () => {
    const open = await testApp({ sql: db.sql, env: { NOT_SECURED: 'true' } });
    try {
      const { body, headers } = await login(open.client(), ann.email, undefined, { returnToken: true });
      expect(headers.get('auth')).toBe(body.accessToken);
      for (const cookie of headers.getSetCookie()) expect(cookie).toMatch(/; SameSite=Lax(; HttpOnly)?$/);
    } finally {
      await open[Symbol.asyncDispose]();
    }
  });
  test.each([
    ['email', 1],
    ['email', undefined],
    ['password', 1],
    ['password', undefined],
    ['password', 'x'.repeat(2000)],
    ['provider', undefined],
    ['provider', {}],
    ['returnToken', 1],
    ['isSuperAdmin', true],
    ['token', 'x'],
  ])('rejects %s = %j by name', async (field, value) => {
    const { status, body } = await app
      .client()
      .post('/auth/login', { provider: 'local', email: ann.email, password: 'x', [field]: value });
    expect([status, body.errors.map((error: { field: string }) => error.field)]).toEqual([400, [field]]);
  });
});

describe('sessions', () => {
  test('end on logout for the whole user, which clears the cookies and cached pages [S40, SE4]', async () => {
    for (const path of ['/user/logout', '/auth/logout']) {
      const bob = await app.signUp();
      const phone = app.client();
      await login(phone, bob.email);
      const { status, body, headers } = await bob.client.post(path);
      expect([status, body, bob.client.cookies.size, headers.get('clear-site-data')]).toEqual([
        200,
        { logout: true },
        0,
        '"storage"',
      ]);
      expect((await phone.get('/user/self')).body.code).toBe('session_revoked');
      expect((await ann.client.get('/user/self')).status).toBe(200);
    }
  });
  test('are listed with their devices and a mark on the current one [S41, SE5]', async () => {
    const bob = await app.signUp();
    const phone = app.client();
    phone.headers['user-agent'] = 'Phone/1 \u00e9';
    await login(phone, bob.email);
    const { body } = await phone.get('/user/sessions');
    expect(body).toHaveLength(2);
    expect(body.find((session: { current: boolean }) => session.current)).toEqual({
      id: expect.any(String),
      userAgent: expect.stringContaining('Phone/1'),
      ip: '127.0.0.1',
      lastUsedAt: expect.stringMatching(/Z$/),
      createdAt: expect.stringMatching(/Z$/),
      current: true,
    });
    const other = body.find((session: { current: boolean }) => !session.current).id;
    const listed = async () => (await phone.get('/user/sessions')).body.map(({ id }: { id: string }) => id);
    await db.sql`update sessions set expires_at = now() - interval '1 second' where id = ${other}`;
    expect(await listed()).toHaveLength(1); // one that is over is no active device
    await db.sql`update sessions set expires_at = now() + interval '1 day' where id = ${other}`;
    expect(await listed()).toContain(other);
    expect((await bob.client.post(`/user/sessions/${other}/revoke`)).status).toBe(200);
    expect(await listed()).toHaveLength(1);
  });
  test('are revoked one by one; those of other users are not [S41, SE6, X11]', async () => {
    const bob = await app.signUp();
    const phone = app.client();
    await login(phone, bob.email);
    const { body } = await bob.client.get('/user/sessions');
    const id = body.find((session: { current: boolean }) => !session.current).id;
    expect((await ann.client.post(`/user/sessions/${id}/revoke`)).status).toBe(404);
    expect((await phone.get('/user/self')).status).toBe(200);
    expect((await bob.client.post(`/user/sessions/${id}/revoke`)).body).toEqual({ success: true });
    expect((await phone.get('/user/self')).status).toBe(401);
    expect((await bob.client.get('/user/self')).status).toBe(200);
  });
  test('end by revoke-all, the current one included, with their number [S41, SE7]', async () => {
    const bob = await app.signUp();
    await login(app.client(), bob.email);
    expect((await bob.client.post('/user/sessions/revoke-all')).body).toEqual({ success: true, revoked: 2 });
    expect((await bob.client.get('/user/self')).status).toBe(401);
  });
  test('that a browser ends are no cookies of it any more, and those of another stay', async () => {
    const bob = await app.signUp();
    const phone = app.client();
    await login(phone, bob.email);
    const { body } = await bob.client.get('/user/sessions');
    const idOf = (mine: boolean) => body.find(({ current }: { current: boolean }) => current === mine).id;
    const names = (client: Client) => ['auth', 'refresh', 'csrf_token'].filter((name) => client.cookies.has(name));
    expect((await bob.client.post(`/user/sessions/${idOf(false)}/revoke`)).status).toBe(200);
    expect(names(bob.client)).toEqual(['auth', 'refresh', 'csrf_token']);
    expect((await bob.client.post(`/user/sessions/${idOf(true)}/revoke`)).status).toBe(200);
    expect(names(bob.client)).toEqual([]);
    await login(phone, bob.email);
    expect((await phone.post('/user/sessions/revoke-all')).status).toBe(200);
    expect(names(phone)).toEqual([]);
  });
  test('record their last use [SE1, US1]', async () => {
    const bob = await app.signUp();
    await db.sql`
      update sessions
      set last_used_at = now() - interval '1 day', expires_at = now() + interval '1 day'
      where user_id = ${bob.userId}`;
    await db.sql`update users set last_online = null where id = ${bob.userId}`;
    const other = await testApp({ sql: db.sql }); // without the memory of a recent note
    await other.client().get('/user/self', { cookie: `auth=${bob.client.cookies.get('auth')!}` });
    await other[Symbol.asyncDispose](); // writes what is waiting
    const [row] = await db.sql`
      select s.last_used_at > now() - interval '1 minute' as used, s.expires_at > now() + interval '29 days' as slid,
        u.last_online is not null as online
      from sessions s join users u on u.id = s.user_id where s.user_id = ${bob.userId}`;
    expect(row).toEqual({ used: true, slid: true, online: true });
  });

  test('are locked in one order by concurrent writes for several users', async () => {
    const people = [await app.signUp(), await app.signUp()];
    const [first, second] = people.map(({ userId }) => userId).toSorted() as [string, string];
    await db.sql`update users set last_online = now() where id = ${first}`; // its row now stands behind the other one
    await using other = await testApp({ sql: db.sql }); // without the memory of a recent note
    for (const { client } of people) await other.client().get('/user/self', { auth: client.cookies.get('auth') });
    let written: PromiseLike<void> | undefined;
    await db.sql.begin(async (tx) => {
      await tx`select 1 from users where id = ${first} for no key update`;
      written = other.context.auth.sessions[Symbol.asyncDispose]();
      const waits = async () => (await waitingOnLock(db.sql, 'update sessions')) > 0;
      await eventually('the notes wait for the first', waits);
      await tx`select 1 from users where id = ${second} for no key update`; // a deadlock, if they held the second
    });
    await written;
  });
});

describe('refresh', () => {
  const tokenOf = (client: Client) => client.cookies.get('refresh')!;
  const refresh = (refreshToken: unknown, headers = {}) =>
    app.client().post('/auth/refresh', { refreshToken }, headers);

  test('rotates the token of the cookie, requires CSRF and stores only its hash [S39, SE1, SE2, X19]', async () => {
    const bob = await app.signUp();
    const before = tokenOf(bob.client);
    expect((await bob.client.post('/auth/refresh', {}, { 'x-csrf-token': undefined })).body.code).toBe('csrf_failed');
    expect((await bob.client.post('/auth/refresh', {}, { 'x-csrf-token': 'a'.repeat(64) })).body.code).toBe(
      'csrf_failed',
    );
    const { status, body } = await bob.client.post('/auth/refresh');
    expect([status, body]).toEqual([200, { refreshed: true }]);
    expect(tokenOf(bob.client)).not.toBe(before);
    expect(Buffer.from(before, 'base64url').length).toBeGreaterThanOrEqual(32);
    const [row] = await db.sql`select token_hash, previous_token_hash from sessions where user_id = ${bob.userId}`;
    expect(row).toEqual({ token_hash: sha256(tokenOf(bob.client)), previous_token_hash: sha256(before) });
    expect((await bob.client.get('/user/self')).status).toBe(200);
    expect((await bob.client.post('/auth/refresh')).status).toBe(200);
  });
  test('answers tokens to the form with a body and needs no CSRF, whatever cookies are sent [S39, S33]', async () => {
    const bob = await app.signUp();
    const { status, body } = await bob.client.post(
      '/auth/refresh',
      { refreshToken: tokenOf(bob.client) },
      { 'x-csrf-token': undefined },
    );
    expect([status, body]).toEqual([
      200,
      {
        refreshed: true,
        accessToken: expect.any(String),
        refreshToken: expect.any(String),
        expiresIn: 2_592_000,
        csrfToken: expect.any(String),
      },
    ]);
    expect((await refresh(body.refreshToken)).status).toBe(200);
  });
  test('answers the same pair to two concurrent tabs [S39]', async () => {
    const bob = await app.signUp();
    const token = tokenOf(bob.client);
    const answers = await Promise.all(Array.from({ length: 5 }, () => refresh(token)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => `${body.accessToken} ${body.refreshToken}`)).size).toBe(1);
  });
  test('ends the session on a rotated token outside its grace: from another agent, after 10 s, or two rotations old [S39, SE3, X16]', async () => {
    const steal = [
      async (token: string) => refresh(token, { 'user-agent': 'Thief/1' }),
      async (token: string, userId: string) => {
        await db.sql`update sessions set rotated_at = now() - interval '11 seconds' where user_id = ${userId}`;
        return refresh(token);
      },
      async (token: string, _: string, bob: SignedUp) => {
        await bob.client.post('/auth/refresh');
        return refresh(token);
      },
    ];
    for (const use of steal) {
      const bob = await app.signUp();
      const old = tokenOf(bob.client);
      await bob.client.post('/auth/refresh');
      const { status, body } = await use(old, bob.userId, bob);
      expect([status, body.code]).toEqual([401, 'session_revoked']);
      expect((await bob.client.get('/user/self')).body.code).toBe('session_revoked');
      const last = await bob.client.post('/auth/refresh');
      expect([last.status, bob.client.cookies.size]).toEqual([401, 0]); // and the cookies are gone
    }
  });
  test('is good for 30 days from its last use, and not after [S236]', async () => {
    const bob = await app.signUp();
    await app.context.auth.sessions[Symbol.asyncDispose](); // a use that is being written would let it slide on
    await db.sql`update sessions set expires_at = now() + interval '1 hour' where user_id = ${bob.userId}`;
    expect((await bob.client.post('/auth/refresh')).status).toBe(200);
    const [row] = await db.sql`
      select expires_at - now() > interval '29 days 23 hours' as slid, expires_at - now() <= interval '30 days' as bounded
      from sessions where user_id = ${bob.userId}`;
    expect(row).toEqual({ slid: true, bounded: true });
    await db.sql`update sessions set expires_at = now() where user_id = ${bob.userId}`;
    expect((await bob.client.post('/auth/refresh')).status).toBe(401);
  });
  test('is refused for an ended session and a deleted user [S39]', async () => {
    const bob = await app.signUp();
    const token = tokenOf(bob.client);
    await bob.client.post('/user/sessions/revoke-all');
    expect((await refresh(token)).status).toBe(401);
    const eve = await app.signUp();
    await app.context.auth.sessions[Symbol.asyncDispose](); // a use that is being written would let it slide on
    await db.sql`update sessions set expires_at = now() where user_id = ${eve.userId}`;
    expect((await refresh(tokenOf(eve.client))).status).toBe(401);
  });
  test.each(['', 'x', 'A'.repeat(87), '../..', 'A'.repeat(100_000)])(
    'ends no session on a string that is not a token: %.20j [S39]',
    async (token) => {
      const { status, body } = await refresh(token);
      expect([status, body.code]).toEqual([401, 'session_revoked']);
    },
  );
  test('ends no session on a forged token that names one', async () => {
    const bob = await app.signUp();
    const forged = tokenOf(bob.client).slice(0, 22) + 'A'.repeat(65);
    expect((await refresh(forged)).status).toBe(401);
    expect((await bob.client.get('/user/self')).status).toBe(200);
  });
  test.each([[1], [null], [{}], [['x']]])('rejects refreshToken = %j by name', async (value) => {
    expect((await refresh(value)).body.errors[0].field).toBe('refreshToken');
  });
  test('rejects a session token as refresh token, and the reverse [X8]', async () => {
    const bob = await app.signUp();
    expect((await refresh(bob.client.cookies.get('auth'))).status).toBe(401);
    expect((await app.client().get('/user/self', { auth: tokenOf(bob.client) })).status).toBe(401);
  });
});
