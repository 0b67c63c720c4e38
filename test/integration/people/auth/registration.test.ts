// oxlint-disable max-lines -- one product serves all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { newId, sha256 } from '../../../../src/platform/kernel/index.ts';
import { type Client, testApp, type TestApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { refuseRows } from '../../../support/wire/database/refused-row.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';
import { codeTo, contentsTo, linkTo } from '../../../support/worlds/mail/links.ts';
import { mailsOf } from '../../../support/worlds/mail/mails.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: { ...WITH_MAIL, FRONTEND_URL: 'https://app.example.com/' } });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const address = () => `${randomUUID()}@example.com`;
const register = (email: string, more: object = {}, client: Client = app.client()) =>
  client.post('/auth/register', { provider: 'LOCAL', email, password: 'long enough', company: 'Acme', ...more });
const login = (email: string, password = 'long enough') =>
  app.client().post('/auth/login', { provider: 'local', email, password });
const activate = (code: string, client: Client = app.client(), more: object = {}) =>
  client.post('/auth/activate', { code, ...more });
const codeOf = (email: string) => codeTo(app.context, email, 'activation');
const userOf = async (email: string) =>
  (await db.sql`select * from users where email = ${email} and deleted_at is null`)[0]!;

describe('registration with mail', () => {
  test('creates an inactive user and mails a link without a session; the link activates and logs in [S30, S34]', async () => {
    const email = address();
    const client = app.client();
    const registered = await register(email, { name: 'Ann' }, client);
    expect([registered.status, registered.body, [...client.cookies.keys()]]).toEqual([
      200,
      { activate: true },
      ['registration'],
    ]); // which opens nothing
    expect(await userOf(email)).toMatchObject({ activated: false });
    expect((await login(email)).body).toMatchObject({ statusCode: 400, activate: true });

    const link = await linkTo(app.context, email, 'activation');
    expect(link).toMatch(/^https:\/\/app\.example\.com\/auth\/activate\/[A-Za-z0-9_-]{43}$/);
    const { status, body } = await activate(link.split('/').at(-1)!, client);
    expect([status, body, [...client.cookies.keys()]]).toEqual([200, { can: true }, ['auth', 'refresh', 'csrf_token']]);
    expect((await client.get('/user/self')).body).toMatchObject({ email, name: 'Ann', activated: true, role: 'owner' });
    expect((await login(email)).status).toBe(200);
  });
  test('stores the code as a hash with its purpose for 24 hours [S34, X19]', async () => {
    const email = address();
    await register(email);
    const code = await codeOf(email);
    const rows = await db.sql`
      select kind, code_hash, expires_at between now() + interval '23 hours 59 minutes'
        and now() + interval '24 hours' as day
      from one_time_codes
      where user_id = ${(await userOf(email))['id']}`;
    expect(rows).toEqual([{ kind: 'activate', code_hash: sha256(code), day: true }]);
    const dump = await db.sql`
        select to_jsonb(c)::text as row
        from one_time_codes c
        union all select to_jsonb(e)::text
        from emails e
        union all select to_jsonb(a)::text
        from audit_log a`;
    for (const { row } of dump) expect(row).not.toContain(code);
  });
  test('commits user, mail and audit entry together: a mail that cannot be written leaves no user', async () => {
    const email = address();
    const broken = await testApp({ sql: db.sql, env: WITH_MAIL });
    await db.sql`alter table emails rename to emails_away`;
    try {
      expect((await register(email, {}, broken.client())).status).toBe(500);
      expect(await userOf(email)).toBeUndefined();
    } finally {
      await db.sql`alter table emails_away rename to emails`;
      await broken[Symbol.asyncDispose]();
    }
    expect((await register(email)).status).toBe(200);
    const [row] = await db.sql`
      select u.xmin::text as a, m.xmin::text as b, c.xmin::text as c, l.xmin::text as d
      from users u
      join emails m on m.to_address = u.email
      join one_time_codes c on c.user_id = u.id
      join audit_log l on l.resource_id = u.id::text and l.action = 'user.registered'
      where u.email = ${email}`;
    expect(new Set(Object.values(row!)).size).toBe(1);
  });
  test('`returnToken` adds the tokens to the activation [S33]', async () => {
    const email = address();
    await register(email);
    const { body } = await activate(await codeOf(email), app.client(), { returnToken: true });
    expect(body).toEqual({
      can: true,
      setPassword: true,
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      expiresIn: 2_592_000,
      csrfToken: expect.any(String),
    });
  });
});

test('a registration of an address whose pending user is deleted meanwhile is a new one [S30, S34]', async () => {
  const email = address();
  await register(email);
  const { id } = await userOf(email);
  const client = app.client();
  let again: ReturnType<typeof register>;
  await db.sql.begin(async (tx) => {
    await tx`select from users where id = ${id} for update`; // as the sweep of pending users does
    again = register(email, { name: 'Ann', password: 'typed again' }, client);
    await eventually('it waits for the user', async () => (await waitingOnLock(db.sql)) === 1);
    await tx`delete from users where id = ${id}`;
  });
  expect((await again!).body).toEqual({ activate: true });
  expect((await activate(await codeOf(email), client)).body).toEqual({ can: true });
  expect((await login(email, 'typed again')).status).toBe(200);
});

describe('an activation code', () => {
  test('works once, also in a hundred concurrent uses [S34, X25]', async () => {
    const email = address();
    await register(email);
    const code = await codeOf(email);
    const answers = await Promise.all(Array.from({ length: 100 }, () => activate(code)));
    expect(answers.filter(({ body }) => body.can === true)).toHaveLength(1);
    expect(
      answers.filter(
        ({ status, body, headers }) => status === 200 && body.can === false && headers.getSetCookie().length === 0,
      ),
    ).toHaveLength(99);
    const { id } = await userOf(email);
    expect(await db.sql`select count(*)::int as n from sessions where user_id = ${id}`).toEqual([{ n: 1 }]);
    expect(
      await db.sql`select count(*)::int as n from audit_log where action = 'user.activated' and resource_id = ${id}`,
    ).toEqual([{ n: 1 }]);
  });
  test.each(['', 'x', 'A'.repeat(43), '../..', "' or 1=1 --", '\u{1f600}'])(
    'gets the same answer when it is invalid: %j [S34]',
    async (code) => {
      const { status, body, headers } = await activate(code);
      expect([status, body, headers.getSetCookie()]).toEqual([200, { can: false }, []]);
    },
  );
  test('expires after 24 hours and is swept [S34]', async () => {
    const email = address();
    await register(email);
    const code = await codeOf(email);
    await db.sql`update one_time_codes set expires_at = now() where code_hash = ${sha256(code)}`;
    expect((await activate(code)).body).toEqual({ can: false });
    expect(await app.context.auth.dropExpiredCodes(100)).toBeGreaterThanOrEqual(1);
    expect(await db.sql`select 1 from one_time_codes where code_hash = ${sha256(code)}`).toHaveLength(0);
  });
  test('of a deleted user activates nothing', async () => {
    const email = address();
    await register(email);
    const code = await codeOf(email);
    await db.sql`update users set deleted_at = now() where email = ${email}`;
    expect((await activate(code)).body).toEqual({ can: false });
  });
  test.each([
    ['code', 1],
    ['code', undefined],
    ['code', 'x'.repeat(501)],
    ['returnToken', 'yes'],
    ['userId', 'x'],
  ])('rejects %s = %j by name', async (field, value) => {
    const { status, body } = await app.client().post('/auth/activate', { code: 'x', [field]: value });
    expect([status, body.errors.map((error: { field: string }) => error.field)]).toEqual([400, [field]]);
  });
});

describe('an address with an existing user', () => {
  test('gets a mail, the answer does not show it, and the account is unchanged [S30, X15]', async () => {
    const email = address();
    await register(email);
    await activate(await codeOf(email));
    const before = await userOf(email);
    const again = await register(email.toUpperCase(), { password: 'another password', company: 'Evil', name: 'Eve' });
    expect([again.status, again.text]).toEqual([200, '{"activate":true}']);
    expect((await contentsTo(app.context, email)).at(-1)).toEqual({
      template: 'address-known',
      data: { name: '', loginUrl: 'https://app.example.com/auth/login' },
    });
    expect(await userOf(email)).toEqual(before);
    expect((await login(email, 'another password')).status).toBe(400);
    expect(await db.sql`select count(*)::int as n from users where lower(email) = ${email}`).toEqual([{ n: 1 }]);
  });
  test('gets another mail while activation is pending; the password of the browser that answers counts, with either mail [S34]', async () => {
    const email = address();
    const [owner, stranger] = [app.client(), app.client()];
    await register(email, { password: 'of the stranger', company: 'Stranger', name: 'Stranger' }, stranger);
    await register(
      email,
      { password: 'of the owner', company: 'Owner Ltd', name: 'Owner', timezone: 'Europe/Paris' },
      owner,
    );
    await register(email, { password: 'of the stranger again', company: 'Stranger', name: 'Stranger' }, stranger);
    expect(await db.sql`select count(*)::int as n from users where email = ${email}`).toEqual([{ n: 1 }]);
    // as whoever typed it last
    expect((await login(email, 'of the stranger again')).body).toMatchObject({ statusCode: 400, activate: true });
    expect((await activate(await codeOf(email), owner)).body).toEqual({ can: true });
    const { body: self } = await owner.get('/user/self');
    expect(self).toMatchObject({ name: 'Owner', orgName: 'Owner Ltd', timezone: 'Europe/Paris', hasPassword: true });
    const statuses = await Promise.all(
      ['of the owner', 'of the stranger', 'of the stranger again'].map(
        async (typed) => (await login(email, typed)).status,
      ),
    );
    expect(statuses).toEqual([200, 400, 400]);
    expect((await owner.get('/user/organizations')).body).toHaveLength(1);
    expect(
      await db.sql`select 1 from registrations r join users u on u.id = r.user_id where u.email = ${email}`,
    ).toHaveLength(0);
  });
  test('tells an earlier browser, and no other, to use the mail after a stranger registers the address again', async () => {
    const email = address();
    const client = app.client();
    await register(email, { password: 'of the owner' }, client);
    await register(email, { password: 'of the stranger' });
    const attempt = { provider: 'LOCAL', email, password: 'of the owner' };
    expect((await client.post('/auth/login', attempt)).body).toMatchObject({ statusCode: 400, activate: true });
    expect((await login(email, 'of the owner')).body.activate).toBeUndefined();
  });
  test('has one user after two concurrent registrations', async () => {
    const email = address();
    const answers = await Promise.all(Array.from({ length: 8 }, () => register(email)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['200 {"activate":true}']));
    expect(await db.sql`select count(*)::int as n from users where email = ${email}`).toEqual([{ n: 1 }]);
    expect(
      await db.sql`
        select count(*)::int as n
        from organizations o
        join memberships m on m.org_id = o.id
        join users u on u.id = m.user_id
        where u.email = ${email}`,
    ).toEqual([{ n: 1 }]);
    expect(await mailsOf(app.context, email)).toHaveLength(8);
  });
  test('at another provider can register [US2, S38]', async () => {
    const email = address();
    await db.sql`
      insert into users (id, email, provider_name, provider_id, activated)
      values (${newId()}, ${email}, 'google', ${newId()}, true)`;
    await register(email);
    expect((await activate(await codeOf(email))).body).toMatchObject({ can: true });
    expect(await db.sql`select provider_name from users where email = ${email} order by 1`).toEqual([
      { provider_name: 'google' },
      { provider_name: 'local' },
    ]);
  });
});

describe('an account activated in another browser than the registering one', () => {
  const opened = async () => {
    const email = address();
    await register(email);
    const client = app.client();
    expect((await activate(await codeOf(email), client)).body).toEqual({ can: true, setPassword: true });
    return { email, client };
  };
  const set = (client: Client, more: object = {}) =>
    client.post('/user/change-password', { password: 'the first one', repeatPassword: 'the first one', ...more });

  test('has no password; its session sets the first without an old one and later ones with it', async () => {
    const { email, client } = await opened();
    expect((await client.get('/user/self')).body).toMatchObject({ email, hasPassword: false });
    expect((await login(email)).status).toBe(400);
    expect((await set(client)).body).toEqual({ success: true });
    expect([(await login(email, 'the first one')).status, (await client.get('/user/self')).body.hasPassword]).toEqual([
      200,
      true,
    ]);
    expect((await set(client)).body.errors).toEqual([
      { field: 'oldPassword', message: expect.any(String), rule: 'required' },
    ]);
  });
  test('sets its first password by mail once the session is a quarter of an hour old', async () => {
    const { email, client } = await opened();
    const { id } = await userOf(email);
    await db.sql`update sessions set created_at = now() - interval '16 minutes' where user_id = ${id}`;
    expect((await set(client)).status).toBe(409);
    expect((await client.post('/user/change-email', { email: address(), password: 'long enough' })).status).toBe(400);
    await client.post('/auth/forgot', { email });
    const token = await codeTo(app.context, email, 'password-reset');
    expect(
      (await client.post('/auth/forgot-return', { token, password: 'the first one', repeatPassword: 'the first one' }))
        .body,
    ).toEqual({ reset: true });
    expect((await login(email, 'the first one')).status).toBe(200);
  });
});

describe('an unanswered registration', () => {
  const age = (email: string, days: number) => db.sql`
    with person
      as (update users set created_at = now() - ${days}::int * interval '1 day' where email = ${email} returning id),
      codes as (delete from one_time_codes c using person where c.user_id = person.id)
    update registrations r
    set created_at = now() - ${days}::int * interval '1 day'
    from person
    where r.user_id = person.id`;

  test('is deleted after seven days with its organization and text; repeated, active and locked users stay', async () => {
    const [gone, again, active, locked] = [address(), address(), address(), address()];
    for (const email of [gone, again, active, locked]) await register(email);
    await activate(await codeOf(active));
    for (const email of [gone, again, active, locked]) await age(email, 8);
    await db.sql`update users set locked_at = now() where email = ${locked}`;
    await register(again);
    const [org] =
      await db.sql`select org_id from memberships m join users u on u.id = m.user_id where u.email = ${gone}`;
    while ((await app.context.auth.dropPending(100)) > 0);
    expect((await Promise.all([gone, again, active, locked].map(userOf))).map((user) => user?.['email'])).toEqual([
      undefined,
      again,
      active,
      locked,
    ]);
    expect(await db.sql`select 1 from organizations where id = ${org!['org_id']}`).toHaveLength(0);
    expect((await register(gone)).body).toEqual({ activate: true });
  });
  test('that cannot be deleted holds up no other', async () => {
    const [first, second] = [address(), address()];
    for (const email of [first, second]) await register(email);
    await age(first, 9);
    await age(second, 8);
    {
      await using _refused = await refuseRows(db.sql, 'delete', 'users', `old.email = '${first}'`);
      await app.context.auth.dropPending(100);
      expect((await Promise.all([first, second].map(userOf))).map((user) => user?.['email'])).toEqual([
        first,
        undefined,
      ]);
    }
    await app.context.auth.dropPending(100);
    expect(await userOf(first)).toBeUndefined();
  });
  test('stays while a repeated mail can still be answered', async () => {
    const email = address();
    await register(email);
    await age(email, 8);
    await app.client().post('/auth/resend-activation', { email });
    const code = await codeOf(email);
    while ((await app.context.auth.dropPending(100)) > 0);
    expect((await activate(code)).body).toEqual({ can: true, setPassword: true });
  });
});

describe('the activation mail', () => {
  const resend = (email: string) => app.client().post('/auth/resend-activation', { email });

  test('is repeated for pending users only, with one answer for everybody [S34, X15]', async () => {
    const [waiting, active, unknown] = [address(), address(), address()];
    const client = app.client();
    await register(waiting, {}, client);
    await register(active);
    await activate(await codeOf(active));
    const first = await codeOf(waiting);
    for (const email of [waiting.toUpperCase(), active, unknown]) {
      const { status, text } = await resend(email);
      expect([status, text]).toEqual([200, '{"success":true}']);
    }
    const second = await codeOf(waiting);
    expect(second).not.toBe(first);
    expect([(await contentsTo(app.context, active)).length, (await contentsTo(app.context, unknown)).length]).toEqual([
      1, 0,
    ]);
    expect((await activate(second, client)).body).toEqual({ can: true });
    expect((await activate(first, client)).body).toEqual({ can: false });
    expect((await login(waiting)).status).toBe(200);
  });
  test('is sent without a further request and survives the death of the process that accepted it [S34]', async () => {
    await using apart = await testDatabase(); // where nobody but these two looks for what was asked for
    const email = address();
    const mails = async () => (await mailsOf(other.context, email)).length;
    await using other = await testApp({ sql: apart.sql, env: WITH_MAIL });
    {
      await using asked = await testApp({ sql: apart.sql, env: WITH_MAIL });
      await register(email, {}, asked.client());
      await asked.client().post('/auth/resend-activation', { email });
      await eventually('the second mail is written', async () => (await mails()) === 2);
    }
    await apart.sql`
      insert into mail_requests (id, kind, email, ip)
      values (${newId()}, 'activate', ${email}, '127.0.0.1')`; // as that process had left it
    const both = await Promise.all([other.context.auth.sendRequested(10), other.context.auth.sendRequested(10)]);
    expect(both.toSorted()).toEqual([0, 1]);
    expect(await mails()).toBe(3);
  });
  test.each([
    ['email', 'x'],
    ['email', undefined],
    ['email', 1],
    ['code', 'x'],
  ])('rejects %s = %j by name', async (field, value) => {
    const { status, body } = await app
      .client()
      .post('/auth/resend-activation', { email: 'a@example.com', [field]: value });
    expect([status, body.errors.map((error: { field: string }) => error.field)]).toEqual([400, [field]]);
  });
});

describe('request limits of registration mails', () => {
  const many = async (tight: TestApp, path: string, body: (n: number) => object, times: number) => {
    const statuses = [];
    for (let n = 0; n < times; n += 1) {
      const client = tight.client();
      client.headers['x-forwarded-for'] = `198.51.100.${n}`;
      statuses.push((await client.post(path, body(n))).status);
    }
    return statuses;
  };
  test('an address has five requests a minute on routes that send mails or take their codes [S17]', async () => {
    const tight = await testApp({ sql: db.sql, env: { ...WITH_MAIL, RATE_LIMIT_SCALE: '1' } });
    try {
      for (const [path, body] of [
        ['/auth/register', () => ({ provider: 'LOCAL', email: address(), password: 'long enough', company: 'Acme' })],
        ['/auth/activate', () => ({ code: 'x' })],
        ['/auth/resend-activation', () => ({ email: address() })],
        ['/auth/forgot', () => ({ email: address() })],
      ] as const) {
        const statuses = [];
        for (let n = 0; n < 6; n += 1) statuses.push((await tight.client().post(path, body())).status);
        expect([path, statuses]).toEqual([path, [200, 200, 200, 200, 200, 429]]);
      }
    } finally {
      await tight[Symbol.asyncDispose]();
    }
  });
  test('a mailbox gets three requested mails an hour, from any source, known or not [S17, X15]', async () => {
    const tight = await testApp({ sql: db.sql, env: { ...WITH_MAIL, RATE_LIMIT_SCALE: '1', TRUST_PROXY_HOPS: '1' } });
    try {
      const known = address();
      await register(known);
      for (const path of ['/auth/forgot', '/auth/resend-activation'])
        for (const email of [known, address()]) {
          expect(await many(tight, path, (n) => ({ email: n % 2 ? email : email.toUpperCase() }), 5)).toEqual([
            200, 200, 200, 429, 429,
          ]);
        }
      const email = address();
      expect(
        await many(
          tight,
          '/auth/register',
          () => ({ provider: 'LOCAL', email, password: 'long enough', company: 'Acme' }),
          6,
        ),
      ).toEqual([200, 200, 200, 200, 200, 429]);
    } finally {
      await tight[Symbol.asyncDispose]();
    }
  });
});

describe('without mail configured', () => {
  test('password resets and activations answer as with mail and write nothing [S34, S35]', async () => {
    const silent = await testApp({ sql: db.sql });
    try {
      const email = address();
      expect((await silent.client().post('/auth/forgot', { email })).text).toBe('{"forgot":true}');
      expect((await silent.client().post('/auth/resend-activation', { email })).text).toBe('{"success":true}');
      expect(await db.sql`select 1 from mail_requests where email = ${email}`).toHaveLength(0);
    } finally {
      await silent[Symbol.asyncDispose]();
    }
  });
});

describe('the first user of an instance with mail', () => {
  test('becomes super-admin although registration is disabled, and activates like everybody [S30, S31, DE12]', async () => {
    const empty = await testDatabase();
    const young = await testApp({ sql: empty.sql, env: { ...WITH_MAIL, DISABLE_REGISTRATION: 'true' } });
    try {
      const email = address();
      expect((await register(email, {}, young.client())).body).toEqual({ activate: true });
      expect((await register(address(), {}, young.client())).body.message).toBe('Registration is disabled');
      const client = young.client();
      await activate(await codeTo(young.context, email, 'activation'), client);
      expect((await client.get('/user/self')).body.isSuperAdmin).toBe(true);
    } finally {
      await young[Symbol.asyncDispose]();
      await empty[Symbol.asyncDispose]();
    }
  });
});

describe('a user of a login provider', () => {
  const person = () => ({
    email: address(),
    name: 'Ann',
    company: 'Acme',
    timezone: 'UTC',
    ip: '127.0.0.1',
    userAgent: 'test',
    avatarUrl: 'https://img.example.com/a.png',
  });

  test('is active at once and found by the provider account, never by the address [S38, US2]', async () => {
    const { identity } = app.context;
    const given = { ...person(), providerName: 'google', providerId: newId() };
    const { userId } = await identity.registerWithProvider(given);
    expect(
      await db.sql`
        select u.activated, u.password_hash, p.avatar_url
        from users u
        join user_profiles p on p.user_id = u.id
        where u.id = ${userId}`,
    ).toEqual([{ activated: true, password_hash: null, avatar_url: given.avatarUrl }]);
    expect(await identity.findProviderAccount('google', given.providerId)).toBe(userId);
    expect(await identity.findProviderAccount('github', given.providerId)).toBeUndefined();
    expect(await identity.findProviderAccount('google', given.email)).toBeUndefined();
  });
  test('is created once under concurrency [X25]', async () => {
    const given = { ...person(), providerName: 'github', providerId: newId() };
    const told = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        app.context.identity.registerWithProvider({ ...given, email: n % 2 ? given.email : address() }),
      ),
    );
    expect(told.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of told)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'invalid_request', status: 400 });
    expect(
      await db.sql`
        select count(*)::int as n from users where provider_name = 'github' and provider_id = ${given.providerId}`,
    ).toEqual([{ n: 1 }]);
  });
  test('is refused while registration is disabled, except through the provider of the operator [DE11, DE13]', async () => {
    const closed = await testApp({ sql: db.sql, env: { DISABLE_REGISTRATION: 'true' } });
    try {
      const { identity } = closed.context;
      await expect(
        identity.registerWithProvider({ ...person(), providerName: 'google', providerId: newId() }),
      ).rejects.toMatchObject({
        message: 'Registration is disabled',
      });
      await expect(
        identity.registerWithProvider({
          ...person(),
          providerName: 'generic',
          providerId: newId(),
          registersWhenClosed: true,
        }),
      ).resolves.toMatchObject({
        userId: expect.any(String),
      });
    } finally {
      await closed[Symbol.asyncDispose]();
    }
  });
});
