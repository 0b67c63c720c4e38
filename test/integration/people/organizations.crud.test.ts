import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let boss: SignedUp;
let ann: SignedUp;
let eve: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  boss = await app.signUp();
  ann = await app.signUp({ company: 'Acme' });
  eve = await app.signUp({ company: 'Evil Corp' });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
const join = (org: SignedUp, user: SignedUp, role: string) =>
  db.sql`insert into memberships (org_id, user_id, role_key) values (${org.orgId}, ${user.userId}, ${role})`;
const acting = async (user: SignedUp, headers = {}) =>
  (await user.client.get('/user/self', headers)).body.orgId as string;

describe('self', () => {
  test('has the user, the org and the permissions, on AGENCY with billing off [S42, S216]', async () => {
    const { status, body } = await ann.client.get('/user/self');
    expect(status).toBe(200);
    expect(body).toEqual({
      id: ann.userId,
      email: ann.email,
      name: '',
      lastName: '',
      bio: '',
      avatarUrl: null,
      timezone: 'UTC',
      providerName: 'local',
      activated: true,
      hasPassword: true,
      isSuperAdmin: false,
      admin: false,
      impersonate: false,
      orgId: ann.orgId,
      orgName: 'Acme',
      role: 'owner',
      permissions: expect.any(Array),
      tier: 'AGENCY',
      isLifetime: false,
      isTrialing: false,
      allowTrial: true,
      totalChannels: 100,
      billingEnabled: false,
      lastReadNotifications: expect.stringMatching(/Z$/),
    });
    expect(body.permissions).toHaveLength(90);
    expect(body.permissions).toContain('posts:create');
  });
  test('the permissions are those of the role; the super-admin has all', async () => {
    const bob = await app.signUp();
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${bob.userId}`;
    const { permissions } = (await bob.client.get('/user/self')).body;
    expect(permissions).toHaveLength(14);
    expect(permissions.every((permission: string) => permission.endsWith(':read'))).toBe(true);
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${boss.userId}`;
    expect((await boss.client.get('/user/self')).body.permissions).toHaveLength(90);
  });
});

describe('orgs', () => {
  test('are listed with the role of the user, and no others [S44, GN2, GN3]', async () => {
    const bob = await app.signUp();
    await join(ann, bob, 'editor');
    expect((await bob.client.get('/user/organizations')).body).toEqual([
      { id: ann.orgId, name: 'Acme', role: 'editor', disabled: false, createdAt: expect.stringMatching(/Z$/) },
      { id: bob.orgId, name: 'Acme Ltd', role: 'owner', disabled: false, createdAt: expect.stringMatching(/Z$/) },
    ]);
  });
  test('are created with the user as owner and selected only on request [S44]', async () => {
    const bob = await app.signUp();
    const { status, body } = await bob.client.post('/orgs', { name: ' Second ' });
    expect([status, body]).toEqual([
      201,
      { id: expect.any(String), name: 'Second', timezone: 'UTC', createdAt: expect.any(String) },
    ]);
    expect(await acting(bob)).toBe(bob.orgId);
    expect((await bob.client.post('/user/change-org', { id: body.id })).body).toEqual({ id: body.id });
    expect(bob.client.cookies.get('showorg')).toBe(body.id);
    expect(await acting(bob)).toBe(body.id);
    await app.context.auth.sessions[Symbol.asyncDispose](); // writes the uses that were noted before the change
    bob.client.cookies.delete('showorg');
    expect(await acting(bob)).toBe(body.id); // the org last used
  });
  test('cannot be selected when foreign, unknown, deleted or closed to the user, all with one answer [S44, S9]', async () => {
    const bob = await app.signUp();
    await join(ann, bob, 'editor');
    await db.sql`update memberships set disabled = true where user_id = ${bob.userId} and org_id = ${ann.orgId}`;
    const gone = (await bob.client.post('/orgs', { name: 'Gone' })).body.id;
    await db.sql`update organizations set deleted_at = now() where id = ${gone}`;
    const answers = await Promise.all(
      [eve.orgId, newId(), gone, ann.orgId].map((id) => bob.client.post('/user/change-org', { id })),
    );
    for (const { status, text } of answers) expect([status, text]).toEqual([404, answers[0]!.text]);
    expect(bob.client.cookies.has('showorg')).toBe(false);
    expect((await bob.client.post('/user/change-org', { id: 'x' })).body.errors[0].field).toBe('id');
  });
  test('are selected by header, then cookie, then last use, then age; foreign values are ignored [S45, S27]', async () => {
    const bob = await app.signUp();
    await join(ann, bob, 'viewer');
    await app.context.auth.sessions[Symbol.asyncDispose](); // writes the use that was noted when he signed up
    await db.sql`update memberships set last_used_at = null where user_id = ${bob.userId}`;
    await db.sql`
      update memberships
      set created_at = now() - interval '1 day'
      where user_id = ${bob.userId} and org_id = ${ann.orgId}`;
    const bare = { auth: bob.client.cookies.get('auth')! };
    const ask = async (headers = {}) => (await app.client().get('/user/self', { ...bare, ...headers })).body.orgId;
    expect(await ask()).toBe(ann.orgId); // the oldest
    expect(await ask({ showorg: bob.orgId })).toBe(bob.orgId);
    expect(await ask({ showorg: bob.orgId, cookie: `showorg=${ann.orgId}` })).toBe(bob.orgId);
    expect(await ask({ cookie: `showorg=${bob.orgId}` })).toBe(bob.orgId);
    for (const foreign of [eve.orgId, newId(), 'x', "' or 1=1", ''])
      expect([ann.orgId, bob.orgId]).toContain(await ask({ showorg: foreign }));
    await db.sql`
      update memberships
      set last_used_at = now() + interval '1 minute'
      where user_id = ${bob.userId} and org_id = ${bob.orgId}`;
    expect(await ask()).toBe(bob.orgId);
    expect(await ask({ showorg: eve.orgId })).toBe(bob.orgId);
    expect(await ask({ showorg: eve.orgId, cookie: `showorg=${ann.orgId}` })).toBe(ann.orgId);
  });
  test('are switched to another one for a member disabled in one [S53]', async () => {
    const bob = await app.signUp();
    await join(ann, bob, 'owner');
    await bob.client.post('/user/change-org', { id: ann.orgId });
    await db.sql`update memberships set disabled = true where user_id = ${bob.userId} and org_id = ${ann.orgId}`;
    expect(await acting(bob)).toBe(bob.orgId);
  });
  test('have a name and time zone that members read and permitted members change, in their own org only [S44, S54, GN2, X11]', async () => {
    expect((await ann.client.put('/orgs/current', { name: 'Acme GmbH', timezone: 'Europe/Berlin' })).body).toEqual({
      id: ann.orgId,
      name: 'Acme GmbH',
      timezone: 'Europe/Berlin',
      createdAt: expect.any(String),
    });
    expect((await ann.client.put('/orgs/current', {})).body).toMatchObject({
      name: 'Acme GmbH',
      timezone: 'Europe/Berlin',
    });
    expect((await ann.client.get('/orgs/current')).body.name).toBe('Acme GmbH');
    expect((await eve.client.put('/orgs/current', { name: 'Hacked' }, { showorg: ann.orgId })).body.id).toBe(eve.orgId);
    expect((await ann.client.get('/orgs/current')).body.name).toBe('Acme GmbH');
    const bob = await app.signUp();
    await join(ann, bob, 'editor');
    const there = { showorg: ann.orgId };
    expect((await bob.client.get('/orgs/current', there)).status).toBe(200);
    expect((await bob.client.put('/orgs/current', { name: 'Mine' }, there)).body.code).toBe('forbidden');
    await db.sql`
      update memberships set role_key = 'no such role' where user_id = ${bob.userId} and org_id = ${ann.orgId}`;
    expect((await bob.client.get('/orgs/current', there)).body.code).toBe('forbidden');
  });
  test.each([
    ['post', '/orgs', 'name', 'ab'],
    ['post', '/orgs', 'name', 'x'.repeat(129)],
    ['post', '/orgs', 'name', 1],
    ['post', '/orgs', 'name', undefined],
    ['post', '/orgs', 'name', '   '],
    ['post', '/orgs', 'timezone', 'UTC'],
    ['post', '/orgs', 'id', 'x'],
    ['put', '/orgs/current', 'name', 'ab'],
    ['put', '/orgs/current', 'name', null],
    ['put', '/orgs/current', 'timezone', 'Nowhere'],
    ['put', '/orgs/current', 'timezone', 1],
    ['put', '/orgs/current', 'allowTrial', true],
    ['put', '/orgs/current', 'limitOverrides', {}],
    ['post', '/user/change-org', 'id', undefined],
    ['post', '/user/change-org', 'id', 1],
    ['post', '/user/change-org', 'id', ['x']],
    ['post', '/user/change-org', 'role', 'owner'],
  ] as const)('are rejected by name on %s %s with %s = %j', async (method, path, field, value) => {
    const valid = path === '/user/change-org' ? { id: ann.orgId } : { name: 'Valid' };
    const { status, body } = await ann.client[method](path, { ...valid, [field]: value });
    expect([status, body.errors.map((error: { field: string }) => error.field)]).toEqual([400, [field]]);
  });
});
