import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { newId, sha256Hex } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { linkTo } from '../../support/worlds/mail/links.ts';
import { testDatabase } from '../../support/wire/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let boss: SignedUp;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  app = await testApp({ sql: db.sql });
  boss = await app.signUp(); // the super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const address = () => `${randomUUID()}@example.com`;
const tokenOf = (url: string) => new URL(url).searchParams.get('org')!;
async function invite(ann: SignedUp, body: Record<string, unknown> = {}) {
  const { status, body: made } = await ann.client.post('/members/invitations', {
    email: address(),
    ...('roleId' in body ? {} : { role: 'editor' }),
    ...body,
  });
  if (status !== 201) throw new Error(`Not invited: ${JSON.stringify(made)}`);
  return { ...(made as { id: string; email: string; url: string; expiresAt: string }), token: tokenOf(made.url) };
}
const take = (user: SignedUp, token: string) => user.client.post('/user/join-org', { org: token });
const roleIn = async ({ orgId }: SignedUp, { userId }: SignedUp) =>
  (await db.sql`select role_key as role from memberships where org_id = ${orgId} and user_id = ${userId}`)[0]?.['role'];
/** A user who acts in the org with this role. */
async function join(org: SignedUp, role: string): Promise<SignedUp> {
  const user = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${org.orgId}, ${user.userId}, ${role})`;
  user.client.headers['showorg'] = org.orgId;
  return user;
}

describe('an invitation', () => {
  test('is a link that works once within seven days and is stored only as a hash [S47, X19]', async () => {
    const ann = await app.signUp();
    const before = Date.now();
    const { status, body } = await ann.client.post('/members/invitations', {
      email: 'New.Person@example.com',
      role: 'editor',
    });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.any(String),
        email: 'New.Person@example.com',
        role: 'editor',
        roleId: 'editor',
        url: expect.any(String),
        expiresAt: expect.any(String),
      },
    ]);
    expect(body.url).toMatch(
      new RegExp(`^${app.context.config.http.frontendUrl.replace(/\/$/, '')}/\\?org=[A-Za-z0-9_-]{43}$`),
    );
    expect(Math.abs(Date.parse(body.expiresAt) - before - 7 * 86_400_000)).toBeLessThan(60_000);
    const list = await ann.client.get('/members/invitations');
    expect(list.body).toEqual([
      {
        id: body.id,
        email: 'New.Person@example.com',
        role: 'editor',
        roleId: 'editor',
        roleName: 'Editor',
        invitedBy: { id: ann.userId, name: '', email: ann.email },
        expiresAt: body.expiresAt,
        createdAt: expect.any(String),
      },
    ]);
    expect(list.text).not.toContain(tokenOf(body.url));
    const [row] = await db.sql`select encode(token_hash, 'hex') as hash from invitations where id = ${body.id}`;
    expect(row!['hash']).toBe(sha256Hex(tokenOf(body.url)));
    const stored = JSON.stringify([
      await db.sql`select * from invitations`,
      await db.sql`select * from audit_log where org_id = ${ann.orgId}`,
    ]);
    expect(stored).not.toContain(tokenOf(body.url));
  });

  test('makes the user a member once and switches to the org [S47]', async () => {
    const ann = await app.signUp();
    const bob = await app.signUp();
    const { token } = await invite(ann, { email: bob.email.toUpperCase(), role: 'viewer' });
    const { status, body } = await take(bob, token);
    expect([status, body]).toEqual([200, { id: ann.orgId }]);
    expect(bob.client.cookies.get('showorg')).toBe(ann.orgId);
    expect((await bob.client.get('/user/self')).body).toMatchObject({ orgId: ann.orgId, role: 'viewer' });
    expect((await take(bob, token)).body.code).toBe('link_expired');
    expect((await ann.client.get('/members/invitations')).body).toEqual([]);
    expect(
      (await db.sql`select action from audit_log where org_id = ${ann.orgId} and resource = 'members' order by id`).map(
        ({ action }) => action,
      ),
    ).toEqual(['invitation.created', 'member.joined']);
  });

  test('is for one address: another user is refused, and the link stays valid [S47]', async () => {
    const ann = await app.signUp();
    const [bob, eve] = [await app.signUp(), await app.signUp()];
    const { token } = await invite(ann, { email: bob.email });
    const { status, body } = await take(eve, token);
    expect([status, body.code, body.message.includes(bob.email)]).toEqual([403, 'forbidden', false]);
    expect(await roleIn(ann, eve)).toBeUndefined();
    expect((await take(bob, token)).status).toBe(200);
  });

  test('works for a user who registers afterwards [S47]', async () => {
    const ann = await app.signUp();
    const { email, token } = await invite(ann);
    expect((await take(await app.signUp({ email }), token)).body).toEqual({ id: ann.orgId });
  });

  test('answers 410 alike for an unknown, used, withdrawn, replaced or expired link and for a deleted org [S47]', async () => {
    const ann = await app.signUp();
    const bob = await app.signUp();
    const replaced = await invite(ann, { email: bob.email });
    const withdrawn = await invite(ann, { email: bob.email.toUpperCase() });
    expect((await ann.client.get('/members/invitations')).body).toHaveLength(1);
    expect((await ann.client.delete(`/members/invitations/${withdrawn.id}`)).body).toEqual({ success: true });
    expect((await ann.client.delete(`/members/invitations/${withdrawn.id}`)).status).toBe(404);
    const expired = await invite(await app.signUp(), { email: bob.email });
    await db.sql`update invitations set expires_at = now() - interval '1 second' where id = ${expired.id}`;
    const gone = await app.signUp();
    const ofGone = await invite(gone, { email: bob.email });
    await db.sql`update organizations set deleted_at = now() where id = ${gone.orgId}`;
    const texts = [];
    for (const token of ['x', 'A'.repeat(43), replaced.token, withdrawn.token, expired.token, ofGone.token]) {
      const { status, body, text } = await take(bob, token);
      expect([status, body.code]).toEqual([410, 'link_expired']);
      texts.push(text);
    }
    expect(new Set(texts).size).toBe(1);
  });

  test('makes exactly one member in a hundred concurrent uses [S47, X25]', async () => {
    const ann = await app.signUp();
    const bob = await app.signUp();
    const { token } = await invite(ann, { email: bob.email });
    const answers = await Promise.all(Array.from({ length: 100 }, () => take(bob, token)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status } of answers) expect([200, 410]).toContain(status);
    expect(
      await db.sql`select action from audit_log where org_id = ${ann.orgId} and action = 'member.joined'`,
    ).toHaveLength(1);
  });

  test('is taken by the first of two accounts with one address at two providers [S47, X25]', async () => {
    const ann = await app.signUp();
    const [bob, twin] = [await app.signUp(), await app.signUp()];
    await db.sql`update users set email = ${bob.email}, provider_name = 'google' where id = ${twin.userId}`;
    const { token } = await invite(ann, { email: bob.email });
    const answers = await Promise.all([take(bob, token), take(twin, token)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 410]);
  });

  test('grants at most the permissions that its inviter has when it is accepted [S46, S47]', async () => {
    const ann = await app.signUp();
    const role = (await ann.client.post('/roles', { name: 'Desk', permissions: ['posts:read'] })).body.id as string;
    const cases: [string, (admin: SignedUp) => Promise<unknown>, object][] = [
      ['demoted', (admin) => ann.client.put(`/members/${admin.userId}`, { role: 'editor' }), { role: 'viewer' }],
      ['disabled', (admin) => ann.client.put(`/members/${admin.userId}`, { disabled: true }), { role: 'viewer' }],
      ['removed', (admin) => ann.client.delete(`/members/${admin.userId}`), { role: 'viewer' }],
      [
        'locked out by a super-admin',
        ({ userId }) => db.sql`update users set activated = false, locked_at = now() where id = ${userId}`,
        { role: 'viewer' },
      ],
      [
        'its role widened beyond them',
        () => ann.client.put(`/roles/${role}`, { permissions: ['billing:manage'] }),
        { roleId: role },
      ],
      ['its role gone', () => db.sql`delete from roles where id = ${role}`, { roleId: role }],
    ];
    for (const [what, change, offered] of cases) {
      const [admin, bob] = [await join(ann, 'admin'), await app.signUp()];
      if (what === 'its role gone') await ann.client.put(`/roles/${role}`, { permissions: [] });
      const { token } = await invite(admin, { email: bob.email, ...offered });
      await change(admin);
      expect([what, (await take(bob, token)).body.code, await roleIn(ann, bob)]).toEqual([
        what,
        'link_expired',
        undefined,
      ]);
    }
    const [admin, bob] = [await join(ann, 'admin'), await app.signUp()];
    const { token } = await invite(admin, { email: bob.email, role: 'admin' });
    expect((await take(bob, token)).status).toBe(200); // nothing changed meanwhile
  });

  test('cannot offer permissions the inviter lacks, a role of another org, or no role [S46, S269]', async () => {
    const [ann, eve] = [await app.signUp(), await app.signUp()];
    const admin = await join(ann, 'admin');
    const hers = (await eve.client.post('/roles', { name: 'Hers', permissions: [] })).body.id;
    expect((await admin.client.post('/members/invitations', { email: address(), role: 'owner' })).status).toBe(403);
    for (const [body, field] of [
      [{ roleId: hers }, 'roleId'],
      [{ roleId: newId() }, 'roleId'],
      [{ role: 'root' }, 'role'],
      [{}, 'role'],
      [{ role: 'viewer', email: 'no address' }, 'email'],
    ] as const) {
      const { status, body: answer } = await ann.client.post('/members/invitations', { email: address(), ...body });
      expect([status, answer.errors[0].field]).toEqual([400, field]);
    }
    expect(
      (await (await join(ann, 'editor')).client.post('/members/invitations', { email: address(), role: 'viewer' }))
        .status,
    ).toBe(403);
  });

  test('to more than a person holds is neither withdrawn nor replaced by them', async () => {
    const ann = await app.signUp();
    const permissions = ['members:read', 'members:create', 'members:delete'];
    const clerk = await join(ann, (await ann.client.post('/roles', { name: 'Clerk', permissions })).body.id);
    const viewers = (await ann.client.post('/roles', { name: 'Sees', permissions: ['members:read'] })).body.id;
    const [admin, reader] = [await invite(ann, { role: 'admin' }), await invite(ann, { roleId: viewers })];
    const withdraw = (id: string) => clerk.client.delete(`/members/invitations/${id}`);
    const replace = (email: string) =>
      clerk.client.post('/members/invitations', { email: email.toUpperCase(), roleId: viewers });
    for (const answer of [await withdraw(admin.id), await replace(admin.email)])
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    const { body } = await ann.client.get('/members/invitations');
    expect(body.find(({ id }: { id: string }) => id === admin.id)).toMatchObject({ email: admin.email, role: 'admin' });
    expect((await replace(reader.email)).status).toBe(201);
    expect((await withdraw((await invite(ann, { roleId: viewers })).id)).status).toBe(200);
  });

  test('is refused for a member, and does not re-enable a disabled one [S47, S53]', async () => {
    const ann = await app.signUp();
    const bob = await app.signUp();
    const { token } = await invite(ann, { email: bob.email });
    await db.sql`
      insert into memberships (org_id, user_id, role_key, disabled)
      values (${ann.orgId}, ${bob.userId}, 'viewer', true)`;
    expect((await take(bob, token)).body.code).toBe('conflict');
    expect(
      (await ann.client.post('/members/invitations', { email: bob.email.toUpperCase(), role: 'viewer' })).body,
    ).toMatchObject({ code: 'conflict', errors: [{ field: 'email', rule: 'taken' }] });
    expect(
      await db.sql`select disabled from memberships where org_id = ${ann.orgId} and user_id = ${bob.userId}`,
    ).toEqual([{ disabled: true }]);
  });

  test('does not reveal whether an address has an account: same status, keys and statements [X15]', async () => {
    const ann = await app.signUp();
    const known = (await app.signUp()).email;
    // the first of an organization makes its counters
    await ann.client.post('/members/invitations', { email: address(), role: 'viewer' });
    const asked = [];
    for (const email of [known, address(), known.toUpperCase()]) {
      db.statements.length = 0;
      const { status, body } = await ann.client.post('/members/invitations', { email, role: 'viewer' });
      asked.push([
        status,
        Object.keys(body),
        db.statements
          .filter((text) => !text.includes('sessions'))
          .map((text) => text.replace(/\s+/g, ' ').slice(0, 60)),
      ]);
    }
    expect(asked[0]).toEqual(asked[1]);
    expect(asked[2]).toEqual(asked[1]);
  });

  test('is mailed to one address at most ten times an hour [S47]', async () => {
    const narrow = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' } });
    const ann = await narrow.signUp();
    const email = address();
    for (let n = 0; n < 10; n++)
      expect((await ann.client.post('/members/invitations', { email, role: 'viewer' })).status).toBe(201);
    expect((await ann.client.post('/members/invitations', { email: email.toUpperCase(), role: 'viewer' })).status).toBe(
      429,
    );
    expect((await ann.client.post('/members/invitations', { email: address(), role: 'viewer' })).status).toBe(201);
    await narrow[Symbol.asyncDispose]();
  });

  test('is limited to 200 open ones in an org [S47]', async () => {
    const ann = await app.signUp();
    await db.sql`
      insert into invitations (id, org_id, email, role_key, token_hash, invited_by)
      select gen_random_uuid(), ${ann.orgId}, n || '@example.com', 'viewer', sha256(gen_random_uuid()::text::bytea),
        ${ann.userId}
      from generate_series(1, 199) n`;
    const statuses = (
      await Promise.all(
        Array.from({ length: 5 }, () => ann.client.post('/members/invitations', { email: address(), role: 'viewer' })),
      )
    ).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([201, 400, 400, 400, 400]);
    const again = await ann.client.post('/members/invitations', { email: '7@Example.com', role: 'viewer' });
    expect(again.status).toBe(201); // takes the place of one
  });

  test('has an alias for older consoles that answers the link only [S46]', async () => {
    const ann = await app.signUp();
    const bob = await app.signUp();
    const { status, body } = await ann.client.post('/settings/team', {
      email: bob.email,
      role: 'member',
      sendEmail: false,
    });
    expect([status, Object.keys(body)]).toEqual([201, ['url']]);
    expect((await take(bob, tokenOf(body.url))).status).toBe(200);
    expect((await ann.client.delete(`/settings/team/${bob.userId}`)).body).toEqual({ success: true });
  });

  test('stays for whoever has the address, when another account that had it is deleted for good [S47]', async () => {
    const ann = await app.signUp();
    const email = address();
    const before = await app.signUp({ email });
    expect((await before.client.delete('/user', { password: before.password })).status).toBe(200);
    await db.sql`update users set deleted_at = now() - interval '31 days' where id = ${before.userId}`;
    const first = await invite(ann, { email });
    expect(await app.context.identity.dropRemoved(100)).toBe(1);

    const bob = await app.signUp({ email });
    expect((await take(bob, first.token)).status).toBe(200);
    const second = await invite(await app.signUp(), { email });
    const person = { email, name: '', company: 'Acme', timezone: 'UTC', avatarUrl: null, ip: '', userAgent: '' };
    const account = { providerName: 'github', providerId: newId() };
    const { userId } = await app.context.identity.registerWithProvider({ ...person, ...account });
    const asked = { kind: 'user', id: userId, reason: 'asked', dryRun: false } as const;
    await app.context.erasure.erase({ userId: boss.userId, impersonatorId: null, ip: null }, asked);
    expect((await take(bob, second.token)).status).toBe(200);
  });

  test('is swept when it expires unused [S47]', async () => {
    const ann = await app.signUp();
    const [old, open] = [await invite(ann), await invite(ann)];
    await db.sql`update invitations set expires_at = now() - interval '1 second' where id = ${old.id}`;
    await app.context.members.invitations.dropOld(100);
    expect((await db.sql`select id from invitations where org_id = ${ann.orgId}`).map(({ id }) => id)).toEqual([
      open.id,
    ]);
  });
});

describe('the mail of an invitation', () => {
  test('is queued in the commit of the invitation, unless it is unwanted or the invitation is refused [S47]', async () => {
    const mailing = await testApp({ sql: db.sql, env: { ...WITH_MAIL, FRONTEND_URL: 'https://app.example.com' } });
    const ann = await app.signUp();
    const client = mailing.client();
    for (const [name, value] of ann.client.cookies) client.cookies.set(name, value);
    const queued = async () =>
      (
        await db.sql<
          { address: string }[]
        >`select to_address as address from emails where org_id = ${ann.orgId} order by id`
      ).map((row) => row.address);
    const [wanted, unwanted] = [address(), address()];
    expect((await client.post('/members/invitations', { email: wanted, role: 'viewer' })).status).toBe(201);
    expect(
      (await client.post('/members/invitations', { email: unwanted, role: 'viewer', sendEmail: false })).status,
    ).toBe(201);
    expect((await client.post('/members/invitations', { email: address(), role: 'nobody' })).status).toBe(400);
    expect(await queued()).toEqual([wanted]);
    expect(await linkTo(mailing.context, wanted, 'invitation')).toMatch(/^https:\/\/app\.example\.com\//);
    await mailing[Symbol.asyncDispose]();
  });
});
