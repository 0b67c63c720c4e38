// oxlint-disable max-lines -- one product serves all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId, sha256 } from '../../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';
import { refuseRows } from '../../../support/wire/database/refused-row.ts';
import { codeTo, contentsTo, linkTo } from '../../../support/worlds/mail/links.ts';
import { mailsOf } from '../../../support/worlds/mail/mails.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
/** With mail; and without, where who registers is active at once. */
let app: TestApp;
let quiet: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: { ...WITH_MAIL, FRONTEND_URL: 'https://app.example.com' } });
  quiet = await testApp({ sql: db.sql });
  await quiet.signUp(); // the super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await quiet[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const address = () => `${randomUUID()}@example.com`;
/** Somebody who is active, talking to the app with mail. */
async function somebody(): Promise<SignedUp> {
  const made = await quiet.signUp();
  const client = app.client();
  for (const [name, value] of made.client.cookies) client.cookies.set(name, value);
  return { ...made, client };
}
const login = (email: string, password = 'correct horse battery', client: Client = app.client()) =>
  client.post('/auth/login', { provider: 'local', email, password });
const fieldsOf = ({ body }: { body: { errors?: { field: string }[] } }) => body.errors?.map(({ field }) => field);
/** A user who logs in at a provider, in a session of its own that began so many minutes ago. */
async function byProvider(minutes = 0) {
  const { email } = { email: address() };
  const { userId, orgId } = await app.context.identity.registerWithProvider({
    email,
    name: '',
    company: 'Acme',
    timezone: 'UTC',
    avatarUrl: null,
    providerName: 'github',
    providerId: newId(),
    ip: '',
    userAgent: '',
  });
  const { accessToken, sessionId } = await app.context.auth.sessions.start(userId, { ip: '', userAgent: '' });
  await db.sql`update sessions set created_at = now() - make_interval(mins => ${minutes}) where id = ${sessionId}`;
  const client = app.client();
  client.headers['auth'] = accessToken;
  return { email, userId, orgId, client };
}
async function join(orgId: string, { userId }: { userId: string }, role = 'member') {
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${orgId}, ${userId}, ${role})`;
}

describe('a change of password', () => {
  const change = (client: Client, more: object = {}) =>
    client.post('/user/change-password', {
      oldPassword: 'correct horse battery',
      password: 'a new password',
      repeatPassword: 'a new password',
      ...more,
    });

  test('needs the old one, ends all other sessions and mails the owner [S43]', async () => {
    const bob = await somebody();
    const phone = app.client();
    await login(bob.email, undefined, phone);
    const { status, body } = await change(bob.client);
    expect([status, body]).toEqual([200, { success: true }]);
    expect((await bob.client.get('/user/self')).status).toBe(200);
    expect((await phone.get('/user/self')).body.code).toBe('session_revoked');
    expect([(await login(bob.email)).status, (await login(bob.email, 'a new password')).status]).toEqual([400, 200]);
    expect(await contentsTo(app.context, bob.email)).toEqual([
      { template: 'password-changed', data: { name: '', opens: [] } },
    ]);
    const [note] = await db.sql`
        select user_id, detail from audit_log where action = 'password.changed' and resource_id = ${bob.userId}`;
    expect(note).toEqual({ user_id: bob.userId, detail: { sessionsRevoked: 1 } });
  });
  test('invalidates resets and address changes requested before', async () => {
    const bob = await somebody();
    await app.client().post('/auth/forgot', { email: bob.email });
    const reset = await codeTo(app.context, bob.email, 'password-reset');
    const other = address();
    await bob.client.post('/user/change-email', { email: other, password: bob.password });
    const confirm = await codeTo(app.context, other, 'email-change');
    await change(bob.client);
    expect(
      (
        await app
          .client()
          .post('/auth/forgot-return', { token: reset, password: 'of the thief', repeatPassword: 'of the thief' })
      ).body,
    ).toEqual({
      reset: false,
    });
    expect((await bob.client.post('/auth/confirm-email', { code: confirm })).body).toEqual({ can: false });
  });
  test('leaves keys and names them in the mail, or revokes them with `revokeKeys`', async () => {
    const bob = await somebody();
    const key = await bob.withKey();
    const connected = async () => (await key.get('/public/v1/is-connected')).status;
    expect((await change(bob.client)).status).toBe(200);
    expect((await contentsTo(app.context, bob.email)).at(-1)).toEqual({
      template: 'password-changed',
      data: { name: '', opens: [`the API key test (${key.key.slice(0, 12)}…) in Acme Ltd`] },
    });
    expect(await connected()).toBe(200);
    const again = {
      oldPassword: 'a new password',
      password: 'the newest one',
      repeatPassword: 'the newest one',
      revokeKeys: true,
    };
    expect((await change(bob.client, again)).status).toBe(200);
    const keys = await db.sql`select 1 from api_keys where user_id = ${bob.userId} and revoked_at is null`;
    expect([keys.length, (await contentsTo(app.context, bob.email)).at(-1)]).toEqual([
      0,
      { template: 'password-changed', data: { name: '', opens: [] } },
    ]);
  });
  test('succeeds once when two run at once, and the other is refused', async () => {
    const bob = await somebody();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        change(bob.client, { password: `password number ${n}`, repeatPassword: `password number ${n}` }),
      ),
    );
    const held = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []));
    expect(held).toHaveLength(1);
    expect((await login(bob.email, `password number ${held[0]}`)).status).toBe(200);
    for (const { status } of answers) expect([200, 409, 400]).toContain(status);
  });
  test('is refused without the old one and to a user who has none', async () => {
    const bob = await somebody();
    const wrong = await change(bob.client, { oldPassword: 'wrong password' });
    expect([wrong.status, fieldsOf(wrong)]).toEqual([400, ['oldPassword']]);
    expect((await login(bob.email)).status).toBe(200);
    const eve = await byProvider();
    expect((await change(eve.client)).body).toMatchObject({
      statusCode: 400,
      message: 'This account has no password: it logs in at a provider',
    });
  });
  test('allows ten wrong old ones in a quarter of an hour by the holder of a session [S17]', async () => {
    const tight = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1', API_LIMIT: '600' } });
    try {
      const bob = await somebody();
      const client = tight.client();
      for (const [name, value] of bob.client.cookies) client.cookies.set(name, value);
      const asks = [
        () => change(client, { oldPassword: 'x' }),
        () => client.post('/user/change-email', { email: address(), password: 'x' }),
        () => client.delete('/user', { password: 'x' }),
      ];
      const statuses = [];
      for (let n = 0; n < 12; n += 1) statuses.push((await asks[n % 3]!()).status);
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429, 429]);
    } finally {
      await tight[Symbol.asyncDispose]();
    }
  });
  test.each([
    ['oldPassword', undefined],
    ['oldPassword', 1],
    ['password', 'short'],
    ['password', 'x'.repeat(129)],
    ['repeatPassword', 'another one'],
    ['repeatPassword', undefined],
    ['userId', 'x'],
  ])('rejects %s = %.20j by name', async (field, value) => {
    const { client } = await somebody();
    const answer = await change(client, { [field]: value });
    expect([answer.status, fieldsOf(answer)]).toEqual([400, expect.arrayContaining([field])]);
  });
});

describe('a change of address', () => {
  const ask = (client: Client, email: string, more: object = {}) =>
    client.post('/user/change-email', { email, password: 'correct horse battery', ...more });
  const confirm = (client: Client, code: string) => client.post('/auth/confirm-email', { code });

  test('applies when the new one confirms; both addresses get a mail [S43]', async () => {
    const bob = await somebody();
    const email = address();
    const { status, body } = await ask(bob.client, email);
    expect([status, body]).toEqual([200, { success: true }]);
    expect(await contentsTo(app.context, bob.email)).toEqual([
      { template: 'email-changing', data: { name: '', newEmail: email } },
    ]);
    expect((await bob.client.get('/user/self')).body.email).toBe(bob.email);
    const link = await linkTo(app.context, email, 'email-change');
    expect(link).toMatch(/^https:\/\/app\.example\.com\/auth\/confirm-email\/[A-Za-z0-9_-]{43}$/);
    const code = link.split('/').at(-1)!;
    const [kept] = await db.sql`select kind, email, code_hash from one_time_codes where user_id = ${bob.userId}`;
    expect(kept).toEqual({ kind: 'email', email, code_hash: sha256(code) });
    expect((await confirm(bob.client, code)).body).toEqual({ can: true });
    expect((await bob.client.get('/user/self')).body.email).toBe(email);
    expect([(await login(bob.email)).status, (await login(email)).status]).toEqual([400, 200]);
    expect((await confirm(bob.client, code)).body).toEqual({ can: false });
    expect(
      await db.sql`
        select detail from audit_log where resource_id = ${bob.userId} and action like 'email.%' order by id`,
    ).toEqual([
      { detail: {} }, // an address would stay when the person is erased
      { detail: {} },
    ]);
  });
  test('is confirmed in a session of the same user only', async () => {
    const [bob, eve] = [await somebody(), await somebody()];
    const email = address();
    await ask(bob.client, email);
    const content = (await contentsTo(app.context, email)).at(-1);
    // whose account it is
    expect(content).toMatchObject({ template: 'email-change', data: { oldEmail: bob.email, newEmail: email } });
    const code = await codeTo(app.context, email, 'email-change');
    expect([(await confirm(app.client(), code)).status, (await confirm(eve.client, code)).body]).toEqual([
      401,
      { can: false },
    ]);
    expect((await bob.client.get('/user/self')).body.email).toBe(bob.email);
    expect((await confirm(bob.client, code)).body).toEqual({ can: true });
  });
  test('is applied once by a hundred concurrent confirmations [X25]', async () => {
    const bob = await somebody();
    const email = address();
    await ask(bob.client, email);
    const code = await codeTo(app.context, email, 'email-change');
    const answers = await Promise.all(Array.from({ length: 100 }, () => confirm(bob.client, code)));
    expect(answers.filter(({ body }) => body.can)).toHaveLength(1);
  });
  test('answers alike for a taken address: its owner gets a mail and keeps it [X15]', async () => {
    const [bob, eve] = [await somebody(), await somebody()];
    const [free, taken] = [await ask(bob.client, address()), await ask(bob.client, eve.email.toUpperCase())];
    expect([taken.status, taken.text]).toEqual([free.status, free.text]);
    expect((await mailsOf(app.context, eve.email.toUpperCase())).map(({ content }) => content.template)).toEqual([
      'address-known',
    ]);
    const elsewhere = address();
    await ask(bob.client, elsewhere);
    const code = await codeTo(app.context, elsewhere, 'email-change');
    await quiet.signUp({ email: elsewhere }); // taken in the meantime
    expect((await confirm(bob.client, code)).body).toEqual({ can: false });
    expect((await bob.client.get('/user/self')).body.email).toBe(bob.email);
  });
  test('succeeds for one of two users who confirm one address at once', async () => {
    const email = address();
    const people = await Promise.all(Array.from({ length: 5 }, somebody));
    const codes = [];
    for (const { client } of people) {
      await ask(client, email);
      codes.push(await codeTo(app.context, email, 'email-change'));
    }
    const answers = await Promise.all(codes.map((code, n) => confirm(people[n]!.client, code)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(answers.filter(({ body }) => body.can)).toHaveLength(1);
    expect(await db.sql`select count(*)::int as n from users where email = ${email}`).toEqual([{ n: 1 }]);
  });
  test('invalidates codes sent to the old address', async () => {
    const bob = await somebody();
    const email = address();
    await ask(bob.client, email);
    const code = await codeTo(app.context, email, 'email-change');
    await app.client().post('/auth/forgot', { email: bob.email });
    const reset = await codeTo(app.context, bob.email, 'password-reset');
    await confirm(bob.client, code);
    expect(
      (
        await app
          .client()
          .post('/auth/forgot-return', { token: reset, password: 'of the thief', repeatPassword: 'of the thief' })
      ).body,
    ).toEqual({
      reset: false,
    });
  });
  test('applies at once without mail, unless the address is taken', async () => {
    const [bob, eve] = [await quiet.signUp(), await quiet.signUp()];
    expect((await ask(bob.client, eve.email.toUpperCase())).body.message).toBe('Email already exists');
    const email = address();
    expect((await ask(bob.client, email)).body).toEqual({ success: true });
    expect((await bob.client.get('/user/self')).body.email).toBe(email);
  });
  test('mails one address at most three times an hour, over all requesters [S17]', async () => {
    const tight = await testApp({ sql: db.sql, env: { ...WITH_MAIL, RATE_LIMIT_SCALE: '1' } });
    try {
      const email = address();
      const statuses = [];
      for (let n = 0; n < 4; n += 1) {
        const bob = await somebody();
        const client = tight.client();
        for (const [name, value] of bob.client.cookies) client.cookies.set(name, value);
        statuses.push((await ask(client, n % 2 ? email : email.toUpperCase())).status);
      }
      expect(statuses).toEqual([200, 200, 200, 429]);
    } finally {
      await tight[Symbol.asyncDispose]();
    }
  });
  test('needs the password and a different address', async () => {
    const bob = await somebody();
    const wrong = await ask(bob.client, address(), { password: 'wrong password' });
    expect([wrong.status, fieldsOf(wrong)]).toEqual([400, ['password']]);
    const same = await ask(bob.client, bob.email.toUpperCase());
    expect([same.status, fieldsOf(same)]).toEqual([400, ['email']]);
    const strict = await testApp({ sql: db.sql, env: { DISALLOW_PLUS: 'true' } });
    try {
      const client = strict.client();
      for (const [name, value] of bob.client.cookies) client.cookies.set(name, value);
      expect(fieldsOf(await ask(client, `a+b${address()}`))).toEqual(['email']);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  test.each([
    ['email', 'x'],
    ['email', undefined],
    ['email', `${'x'.repeat(250)}@example.com`],
    ['password', undefined],
    ['password', 1],
    ['userId', 'x'],
  ])('rejects %s = %.20j by name', async (field, value) => {
    const { client } = await somebody();
    const answer = await ask(client, address(), { [field]: value });
    expect([answer.status, fieldsOf(answer)]).toEqual([400, [field]]);
  });
});

describe('deletion of an account', () => {
  const remove = (client: Client, password: string | undefined = 'correct horse battery') =>
    client.delete('/user', password === '' ? {} : { password });

  test('ends sessions and keys at once, keeps the row for 30 days and deletes an org without other members [S43]', async () => {
    const bob = await somebody();
    const key = await bob.withKey();
    const phone = app.client();
    await login(bob.email, undefined, phone);
    const { status, body, headers } = await remove(bob.client);
    expect([status, body, bob.client.cookies.size]).toEqual([200, { success: true }, 0]);
    expect(headers.getSetCookie().every((cookie) => cookie.includes('Max-Age=0'))).toBe(true);
    expect(headers.get('clear-site-data')).toBe('"storage"');
    expect([(await phone.get('/user/self')).status, (await phone.post('/auth/refresh')).status]).toEqual([401, 401]);
    expect((await app.client().get('/public/v1/is-connected', { authorization: key.key })).status).toBe(401);
    expect((await login(bob.email)).body.message).toBe('Invalid user name or password');
    const [row] = await db.sql`
      select u.deleted_at is not null as gone, o.deleted_at is not null as org,
        (select count(*)::int from api_keys k where k.user_id = u.id and revoked_at is null) as keys
      from users u join organizations o on o.id = ${bob.orgId} where u.id = ${bob.userId}`;
    expect(row).toEqual({ gone: true, org: true, keys: 0 });
    expect(
      await db.sql`
        select user_id, org_id
        from audit_log
        where action in ('user.deleted', 'org.deleted') and user_id = ${bob.userId}
        order by id`,
    ).toEqual([
      { user_id: bob.userId, org_id: bob.orgId },
      { user_id: bob.userId, org_id: null },
    ]);
    expect(
      await db.sql`
        select 1
        from organizations o
        join memberships m on m.org_id = o.id
        where m.user_id = ${bob.userId} and o.deleted_at is null`,
    ).toHaveLength(0);
  });
  test('requires the password', async () => {
    const bob = await somebody();
    const [wrong, none] = [await remove(bob.client, 'wrong password'), await remove(bob.client, '')];
    expect([wrong.status, fieldsOf(wrong), none.status, fieldsOf(none)]).toEqual([
      400,
      ['password'],
      400,
      ['password'],
    ]);
    expect((await bob.client.get('/user/self')).status).toBe(200);
  });
  test('requires a recent login from a user without a password', async () => {
    const [stale, fresh] = [await byProvider(16), await byProvider(14)];
    const refused = await stale.client.delete('/user', {});
    expect([refused.status, refused.body.message]).toEqual([409, 'Log in again first, then delete the account']);
    expect((await fresh.client.delete('/user', {})).body).toEqual({ success: true });
    expect((await fresh.client.get('/user/self')).status).toBe(401);
  });
  test('is refused to the last owner of an org with other members and changes nothing [S43]', async () => {
    const [bob, eve] = [await somebody(), await somebody()];
    await join(bob.orgId, eve, 'admin');
    const refused = await remove(bob.client);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect((await bob.client.get('/user/self')).status).toBe(200);
    await db.sql`
      update memberships
      set role_key = 'owner', disabled = true
      where org_id = ${bob.orgId} and user_id = ${eve.userId}`;
    expect((await remove(bob.client)).status).toBe(409); // an owner who is disabled is none
    await db.sql`update memberships set disabled = false where org_id = ${bob.orgId} and user_id = ${eve.userId}`;
    await db.sql`update users set activated = false where id = ${eve.userId}`;
    expect((await remove(bob.client)).status).toBe(409); // nor is one who is locked out
    await db.sql`update users set activated = true where id = ${eve.userId}`;
    expect((await remove(bob.client)).status).toBe(200);
    expect((await eve.client.get('/user/self', { showorg: bob.orgId })).body.orgId).toBe(bob.orgId);
    expect(await db.sql`select user_id from memberships where org_id = ${bob.orgId}`).toEqual([
      { user_id: eve.userId },
    ]);
  });
  test('removes a member from the org and leaves posts and other members unchanged', async () => {
    const [bob, eve] = [await somebody(), await somebody()];
    await join(bob.orgId, eve, 'editor');
    expect((await remove(eve.client)).status).toBe(200);
    const [row] = await db.sql`
        select deleted_at, (select count(*)::int from memberships where org_id = ${bob.orgId}) as members
        from organizations
        where id = ${bob.orgId}`;
    expect(row).toEqual({ deleted_at: null, members: 1 });
    expect(
      await db.sql`select user_id, resource_id from audit_log where org_id = ${bob.orgId} and action = 'user.deleted'`,
    ).toEqual([{ user_id: eve.userId, resource_id: eve.userId }]);
    expect((await bob.client.get('/user/self')).status).toBe(200);
  });
  test('succeeds for one of both owners of an org at once [X25]', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [bob, eve, ann] = await Promise.all([somebody(), somebody(), somebody()]);
      await join(bob.orgId, eve, 'owner');
      await join(bob.orgId, ann, 'member');
      const answers = await Promise.all([remove(bob.client), remove(eve.client)]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      expect(
        await db.sql`
          select count(*)::int as n
          from memberships m
          join users u on u.id = m.user_id and u.deleted_at is null
          where m.org_id = ${bob.orgId} and role_key = 'owner'`,
      ).toEqual([{ n: 1 }]);
    }
  });
  test('is refused to the last super-admin; of two at once one stays', async () => {
    const admins = [await somebody(), await somebody()] as const;
    const others = await db.sql`update users set is_super_admin = false where is_super_admin returning id`;
    try {
      await db.sql`update users set is_super_admin = true where id in ${db.sql(admins.map(({ userId }) => userId))}`;
      const answers = await Promise.all(admins.map(({ client }) => remove(client)));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      const left = admins[answers.findIndex(({ status }) => status === 409)]!;
      expect((await remove(left.client)).body.message).toBe('The last super-admin stays: make another one first');
      expect((await left.client.get('/user/self')).body.isSuperAdmin).toBe(true);
    } finally {
      await db.sql`update users set is_super_admin = false`;
      await db.sql`update users set is_super_admin = true where id in ${db.sql(others.map(({ id }) => id as string))}`;
    }
  });
  test('does not deadlock with concurrent writes of last use', async () => {
    for (const leaves of [0, 1]) {
      const people = [await somebody(), await somebody()] as const;
      const eve = await somebody();
      for (const one of people) await join(eve.orgId, one, 'editor');
      const apart = openDatabase({ url: db.url, connections: 2 });
      const other = await testApp({ sql: db.sql });
      try {
        for (const { client } of people)
          await other.client().get('/user/self', { auth: client.cookies.get('auth')!, showorg: eve.orgId });
        const [holding, released] = [gate(), gate()];
        const held = apart.begin(async (tx) => {
          await tx`
            select from memberships where org_id = ${eve.orgId} and user_id = ${people[1 - leaves]!.userId} for update`;
          holding.open();
          await released.passed;
        });
        await holding.passed;
        /** Whether a statement of these words waits for a row. */
        const waits = async (words: string) => (await waitingOnLock(apart, words)) > 0;
        const noted = other[Symbol.asyncDispose](); // both users, and the memberships of both one after the other
        await eventually('the note waits', () => waits('with\\s+used as'));
        const removed = remove(people[leaves]!.client);
        await eventually('the end of the account waits for the note', () =>
          waits('is_super_admin|delete from memberships'),
        );
        released.open();
        await Promise.all([held, noted]);
        expect((await removed).status).toBe(200);
      } finally {
        await apart.end({ timeout: 1 });
      }
    }
  });
  test('releases the address and the provider account for a new user [US2]', async () => {
    const bob = await somebody();
    await remove(bob.client);
    const again = await quiet.signUp({ email: bob.email });
    expect(again.userId).not.toBe(bob.userId);
    expect((await again.client.get('/user/organizations')).body).toHaveLength(1);
    const { client, userId } = await byProvider();
    const [row] = await db.sql`select provider_id from users where id = ${userId}`;
    await client.delete('/user', {});
    expect(await app.context.identity.findProviderAccount('github', row!['provider_id'])).toBeUndefined();
    const fresh = {
      email: address(),
      name: '',
      company: 'Acme',
      timezone: 'UTC',
      avatarUrl: null,
      ip: '',
      userAgent: '',
    };
    await expect(
      app.context.identity.registerWithProvider({ ...fresh, providerName: 'github', providerId: row!['provider_id'] }),
    ).resolves.toMatchObject({});
  });
  test('invalidates pending codes', async () => {
    const bob = await somebody();
    await app.client().post('/auth/forgot', { email: bob.email });
    const reset = await codeTo(app.context, bob.email, 'password-reset');
    await remove(bob.client);
    expect(
      (
        await app
          .client()
          .post('/auth/forgot-return', { token: reset, password: 'a new password', repeatPassword: 'a new password' })
      ).body,
    ).toEqual({
      reset: false,
    });
  });
  test('removes the row after 30 days and not before', async () => {
    const [bob, eve] = [await somebody(), await somebody()];
    await remove(bob.client);
    await remove(eve.client);
    await db.sql`update users set deleted_at = now() - interval '30 days 1 minute' where id = ${bob.userId}`;
    await db.sql`update users set deleted_at = now() - interval '29 days 23 hours' where id = ${eve.userId}`;
    expect(await app.context.identity.dropRemoved(100)).toBe(1);
    expect(await db.sql`select id from users where id in (${bob.userId}, ${eve.userId})`).toEqual([{ id: eve.userId }]);
  });
  test('one that cannot be removed holds up no other', async () => {
    const [bob, eve] = [await somebody(), await somebody()];
    await remove(bob.client);
    await remove(eve.client);
    const ago = (userId: string, days: number) =>
      db.sql`update users set deleted_at = now() - make_interval(days => ${days}) where id = ${userId}`;
    await ago(bob.userId, 32);
    await ago(eve.userId, 31);
    const left = () => db.sql`select id from users where id in (${bob.userId}, ${eve.userId})`;
    {
      await using _refused = await refuseRows(db.sql, 'delete', 'users', `old.id = '${bob.userId}'`);
      expect(await app.context.identity.dropRemoved(1)).toBe(1);
      expect(await left()).toEqual([{ id: bob.userId }]);
    }
    expect(await app.context.identity.dropRemoved(1)).toBe(1);
    expect(await left()).toEqual([]);
  });
});
