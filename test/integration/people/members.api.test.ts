import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  app = await testApp({ sql: db.sql });
  await app.signUp(); // the super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** A user who acts in the org with this role. */
async function join(org: SignedUp, role: string): Promise<SignedUp> {
  const user = await app.signUp();
  await db.sql`
    insert into memberships (org_id, user_id, role_key, last_used_at)
    values (${org.orgId}, ${user.userId}, ${role}, now())`;
  user.client.headers['showorg'] = org.orgId;
  return { ...user, orgId: org.orgId, withKey: user.withKey };
}
const roleOf = async ({ orgId }: SignedUp, { userId }: SignedUp) => {
  const [row] =
    await db.sql`select role_key as role, disabled from memberships where org_id = ${orgId} and user_id = ${userId}`;
  return row && (row['disabled'] ? `${row['role']} (disabled)` : row['role']);
};
/** What was done in the org since its making. */
const notes = async (orgId: string) =>
  (
    await db.sql`
      select action from audit_log where org_id = ${orgId} and resource in ('members', 'roles', 'settings') order by id`
  ).map(({ action }) => action as string);
const customRole = async (ann: SignedUp, permissions: string[], name: string = newId()) =>
  (await ann.client.post('/roles', { name, permissions })).body as { id: string; name: string };

describe('members', () => {
  test('are listed with role and state, of the own org only, and in the older shape for older consoles [S46, GN2, RB1]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'editor');
    const { status, body } = await bob.client.get('/members');
    const shared = {
      name: '',
      avatarUrl: null,
      disabled: false,
      createdAt: expect.stringMatching(/Z$/),
      lastOnline: expect.stringMatching(/Z$/),
    };
    expect([status, body]).toEqual([
      200,
      [
        { ...shared, id: ann.userId, email: ann.email, role: 'owner', roleId: 'owner', roleName: 'Owner' },
        { ...shared, id: bob.userId, email: bob.email, role: 'editor', roleId: 'editor', roleName: 'Editor' },
      ],
    ]);
    expect((await bob.client.get('/settings/team')).body).toEqual({
      users: [
        { user: { id: ann.userId, email: ann.email }, role: 'owner' },
        { user: { id: bob.userId, email: bob.email }, role: 'editor' },
      ],
    });
  });

  test('get another role by `role` or `roleId`, effective for their sessions at once [S46, RB5]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'viewer');
    expect((await bob.client.put('/settings', { shortlink: 'YES' })).status).toBe(403);
    const { status, body } = await ann.client.put(`/members/${bob.userId}`, { role: 'admin' });
    expect([status, body.role]).toEqual([200, 'admin']);
    expect((await bob.client.put('/settings', { shortlink: 'YES' })).status).toBe(200);
    expect((await ann.client.put(`/members/${bob.userId}`, { roleId: 'viewer' })).body.role).toBe('viewer');
    expect((await bob.client.put('/settings', { shortlink: 'YES' })).status).toBe(403);
    expect(await notes(ann.orgId)).toEqual(expect.arrayContaining(['member.updated', 'settings.updated']));
  });

  test('are refused a role that is unknown, foreign or named twice differently, by its field [S269, S46]', async () => {
    const [ann, eve] = [await app.signUp(), await app.signUp()];
    const bob = await join(ann, 'viewer');
    const hers = await customRole(eve, ['posts:read']);
    for (const body of [
      { roleId: hers.id },
      { roleId: newId() },
      { roleId: 'constructor' },
      { roleId: 'editor', role: 'viewer' },
    ]) {
      const { status, body: answer } = await ann.client.put(`/members/${bob.userId}`, body);
      expect([status, answer.errors[0].field]).toEqual([400, 'roleId']);
    }
    expect((await ann.client.put(`/members/${bob.userId}`, { role: 'root' })).body.errors[0].field).toBe('role');
    expect(await roleOf(ann, bob)).toBe('viewer');
  });

  test('grant at most their own permissions and do not act on members with more [S46]', async () => {
    const ann = await app.signUp();
    const [admin, bob] = [await join(ann, 'admin'), await join(ann, 'viewer')];
    expect((await admin.client.put(`/members/${bob.userId}`, { role: 'owner' })).status).toBe(403);
    expect((await admin.client.put(`/members/${admin.userId}`, { role: 'owner' })).status).toBe(403);
    expect((await admin.client.put(`/members/${ann.userId}`, { role: 'viewer' })).status).toBe(403);
    expect((await admin.client.put(`/members/${ann.userId}`, { disabled: true })).status).toBe(403);
    expect((await admin.client.delete(`/members/${ann.userId}`)).status).toBe(403);
    const narrow = await customRole(ann, ['members:manage', 'posts:read']);
    await ann.client.put(`/members/${bob.userId}`, { roleId: narrow.id });
    const eve = await join(ann, 'viewer');
    expect((await bob.client.put(`/members/${eve.userId}`, { role: 'editor' })).status).toBe(403);
    // a viewer reads more than this role does
    expect((await bob.client.delete(`/members/${eve.userId}`)).status).toBe(403);
    expect((await admin.client.put(`/members/${eve.userId}`, { role: 'admin' })).status).toBe(200);
    expect([await roleOf(ann, ann), await roleOf(ann, eve), await roleOf(ann, admin)]).toEqual([
      'owner',
      'admin',
      'admin',
    ]);
  });

  test('always include one owner: the last is not removed, demoted or disabled and cannot leave [S46]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'owner');
    await db.sql`
      update memberships
      set disabled = true
      where user_id = ${bob.userId} and org_id = ${ann.orgId}`; // no owner while disabled
    for (const answer of [
      await ann.client.put(`/members/${ann.userId}`, { role: 'admin' }),
      await ann.client.put(`/members/${ann.userId}`, { disabled: true }),
      await ann.client.delete(`/members/${ann.userId}`),
      await ann.client.delete(`/settings/team/${ann.userId}`),
      await ann.client.post('/user/leave-org', { id: ann.orgId }),
    ])
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    expect(await roleOf(ann, ann)).toBe('owner');
    await ann.client.put(`/members/${bob.userId}`, { disabled: false });
    await db.sql`update users set activated = false where id = ${bob.userId}`; // nor while locked out
    expect((await ann.client.put(`/members/${ann.userId}`, { role: 'admin' })).status).toBe(409);
    await db.sql`update users set activated = true where id = ${bob.userId}`;
    expect((await ann.client.put(`/members/${ann.userId}`, { role: 'admin' })).status).toBe(200);
  });

  test('keep one owner when two demote each other at once, at every interleaving [S46, X25]', async () => {
    for (let round = 0; round < 10; round++) {
      const ann = await app.signUp();
      const bob = await join(ann, 'owner');
      const answers = await Promise.all([
        ann.client.put(`/members/${bob.userId}`, { role: 'viewer' }),
        bob.client.put(`/members/${ann.userId}`, { role: 'viewer' }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403]);
      expect([await roleOf(ann, ann), await roleOf(ann, bob)].toSorted()).toEqual(['owner', 'viewer']);
    }
  });

  test('keep one owner when all owners step down at once [S46, X25]', async () => {
    const ann = await app.signUp();
    const owners = [ann, ...(await Promise.all(Array.from({ length: 9 }, () => join(ann, 'owner'))))];
    const answers = await Promise.all(
      owners.map((one, n) =>
        n % 2
          ? one.client.post('/user/leave-org', { id: ann.orgId })
          : one.client.put(`/members/${one.userId}`, { role: 'viewer' }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(9).fill(200), 409]);
    expect(await db.sql`select 1 from memberships where org_id = ${ann.orgId} and role_key = 'owner'`).toHaveLength(1);
  });

  test('lose every credential of the membership on removal; their work stays and a new invitation revives nothing [S46, S53, X13]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'editor');
    const key = await bob.withKey();
    expect((await key.get('/public/v1/is-connected')).status).toBe(200);
    const [channelId, postId] = [newId(), newId()];
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${channelId}, ${ann.orgId}, 'sandbox', 'v1', 'x', 'x', 'x')`;
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, created_by)
      values (${postId}, ${ann.orgId}, ${channelId}, 'g', 'DRAFT', null, 'x', now(), ${bob.userId})`;
    const approval = newId();
    await db.sql`
      insert into oauth_clients (id, org_id, client_id, name, redirect_uris, scope)
      values (${approval}, ${ann.orgId}, ${approval}, 'App', '{}', '{mcp:read}')`;
    await db.sql`
      insert into oauth_authorizations (id, org_id, user_id, app_id, scope)
      values (${approval}, ${ann.orgId}, ${bob.userId}, ${approval}, '{mcp:read}')`;
    expect((await ann.client.delete(`/members/${bob.userId}`)).body).toEqual({ success: true });
    expect(await db.sql`select 1 from oauth_authorizations where id = ${approval}`).toEqual([]);
    await settles(async () => expect((await key.get('/public/v1/is-connected')).status).toBe(401));
    expect((await bob.client.get('/user/self')).body.orgId).not.toBe(ann.orgId);
    expect((await ann.client.get('/members')).body).toHaveLength(1);
    expect(await db.sql`select created_by from posts where id = ${postId}`).toEqual([{ created_by: bob.userId }]);
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'viewer')`;
    expect((await key.get('/public/v1/is-connected')).status).toBe(401);
    expect((await ann.client.delete(`/members/${newId()}`)).status).toBe(404);
  });

  test('get 401 on every credential of the membership while disabled, and regain them when enabled [S53, X13]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'editor');
    const key = await bob.withKey();
    await db.sql`delete from memberships where user_id = ${bob.userId} and org_id <> ${ann.orgId}`;
    expect((await ann.client.put(`/members/${bob.userId}`, { disabled: true })).body.disabled).toBe(true);
    expect((await bob.client.get('/user/self')).status).toBe(401);
    await settles(async () => expect((await key.get('/public/v1/is-connected')).status).toBe(401));
    await ann.client.put(`/members/${bob.userId}`, { disabled: false });
    expect((await bob.client.get('/user/self')).status).toBe(200);
    await settles(async () => expect((await key.get('/public/v1/is-connected')).status).toBe(200));
  });

  test('change the rights of their keys within a second of a role change [X13, RB2]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'viewer');
    const role = await customRole(ann, ['posts:read', 'channels:read']);
    await ann.client.put(`/members/${bob.userId}`, { roleId: role.id });
    const key = await bob.withKey();
    expect((await key.get('/public/v1/integrations')).status).toBe(200);
    await ann.client.put(`/roles/${role.id}`, { permissions: ['posts:read'] });
    await settles(async () => expect((await key.get('/public/v1/integrations')).status).toBe(403));
  });

  test('get an org of their own when they leave their only one [S46]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'editor');
    await db.sql`delete from memberships where user_id = ${bob.userId} and org_id <> ${ann.orgId}`;
    expect((await bob.client.post('/user/leave-org', { id: (await app.signUp()).orgId })).status).toBe(404);
    expect((await bob.client.post('/user/leave-org', { id: ann.orgId })).body).toEqual({ success: true });
    // repeated: no other org is left
    expect((await bob.client.post('/user/leave-org', { id: ann.orgId })).status).toBe(404);
    delete bob.client.headers['showorg'];
    const { body } = await bob.client.get('/user/self');
    expect([body.role, body.orgName]).toEqual(['owner', 'My organization']);
    expect((await bob.client.get('/user/organizations')).body).toHaveLength(1);
  });

  test('hand over an org as owner to another active member in one commit and stay as admin [S46]', async () => {
    const [ann, eve] = [await app.signUp(), await app.signUp()];
    const [bob, carol] = [await join(ann, 'viewer'), await join(ann, 'viewer')];
    await ann.client.put(`/members/${carol.userId}`, { disabled: true });
    for (const userId of [eve.userId, newId(), 'x', ann.userId, carol.userId])
      expect((await ann.client.post('/orgs/current/transfer', { userId })).body.errors[0].field).toBe('userId');
    expect((await bob.client.post('/orgs/current/transfer', { userId: bob.userId })).status).toBe(403);
    expect((await ann.client.post('/orgs/current/transfer', { userId: bob.userId })).body).toEqual({ success: true });
    expect([await roleOf(ann, ann), await roleOf(ann, bob)]).toEqual(['admin', 'owner']);
    expect((await ann.client.post('/orgs/current/transfer', { userId: ann.userId })).status).toBe(403);
    expect(await notes(ann.orgId)).toContain('org.transferred');
  });

  test('cannot hand over the org to a member who is locked out [S46]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, 'admin');
    await db.sql`update users set activated = false, locked_at = now() where id = ${bob.userId}`;
    expect((await ann.client.post('/orgs/current/transfer', { userId: bob.userId })).status).toBe(409);
    expect([await roleOf(ann, ann), await roleOf(ann, bob)]).toEqual(['owner', 'admin']);
  });

  test('gain one owner for each successful concurrent handover and never have none [S46, X25]', async () => {
    const ann = await app.signUp();
    const others = await Promise.all(Array.from({ length: 10 }, () => join(ann, 'viewer')));
    const answers = await Promise.all(
      others.map(({ userId }) => ann.client.post('/orgs/current/transfer', { userId })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await db.sql`select 1 from memberships where org_id = ${ann.orgId} and role_key = 'owner'`).toHaveLength(1);
  });
});

describe('roles', () => {
  test('include the five system roles and those of the org, over 18 resources and 5 actions [S48, S49, S50, RB1, RB2, RB3]', async () => {
    const ann = await app.signUp();
    const made = await ann.client.post('/roles', {
      name: ' Publisher ',
      permissions: ['posts:manage', 'channels:read', 'posts:manage'],
    });
    const role = {
      id: expect.any(String),
      key: made.body.id,
      name: 'Publisher',
      system: false,
      permissions: ['channels:read', 'posts:manage'],
    };
    expect([made.status, made.body]).toEqual([201, role]);
    const { body } = await ann.client.get('/roles');
    expect(body.map(({ id, key, name, system }: Record<string, unknown>) => [id === key, name, system])).toEqual([
      ...['Owner', 'Admin', 'Editor', 'Member', 'Viewer'].map((name) => [true, name, true]),
      [true, 'Publisher', false],
    ]);
    expect(body[0].permissions).toHaveLength(18);
    const { resources, actions } = (await ann.client.get('/roles/catalog')).body;
    expect([resources.length, actions]).toEqual([18, ['create', 'read', 'update', 'delete', 'manage']]);
    expect(await notes(ann.orgId)).toEqual(['role.created']);
  });

  test('expand `manage` to all actions, also in the answer to the user [RB4, S50]', async () => {
    const ann = await app.signUp();
    const bob = await join(ann, (await customRole(ann, ['posts:manage'])).id);
    expect((await bob.client.get('/user/self')).body.permissions).toEqual(
      ['create', 'delete', 'manage', 'read', 'update'].map((action) => `posts:${action}`),
    );
  });

  test('of the system cannot be edited or deleted, nor their names taken [S48]', async () => {
    const ann = await app.signUp();
    for (const id of ['owner', 'viewer']) {
      expect((await ann.client.put(`/roles/${id}`, { name: 'x' })).status).toBe(403);
      expect((await ann.client.delete(`/roles/${id}`)).status).toBe(403);
    }
    for (const name of ['Owner', 'EDITOR'])
      expect((await ann.client.post('/roles', { name, permissions: [] })).status).toBe(409);
    const role = await customRole(ann, [], 'Twice');
    expect(await ann.client.post('/roles', { name: 'twice', permissions: [] })).toMatchObject({
      status: 409,
      body: { errors: [{ field: 'name', message: 'name: is the name of another role', rule: 'taken' }] },
    });
    expect((await ann.client.put(`/roles/${role.id}`, { name: 'Viewer' })).status).toBe(409);
  });

  test('in use by a member or an invitation are not deleted [S48]', async () => {
    const ann = await app.signUp();
    const [used, offered, free] = [await customRole(ann, []), await customRole(ann, []), await customRole(ann, [])];
    await join(ann, used.id);
    await ann.client.post('/members/invitations', { email: 'someone@example.com', roleId: offered.id });
    expect((await ann.client.delete(`/roles/${used.id}`)).body.code).toBe('conflict');
    expect((await ann.client.delete(`/roles/${offered.id}`)).body.code).toBe('conflict');
    expect((await ann.client.delete(`/roles/${free.id}`)).body).toEqual({ success: true });
    expect((await ann.client.delete(`/roles/${free.id}`)).status).toBe(404);
  });

  test('are not created, widened, changed or deleted beyond the permissions of the actor [S46, S48]', async () => {
    const ann = await app.signUp();
    const admin = await join(ann, 'admin');
    expect((await admin.client.post('/roles', { name: 'Money', permissions: ['billing:manage'] })).status).toBe(403);
    expect((await admin.client.post('/roles', { name: 'Reader', permissions: ['billing:read'] })).status).toBe(201);
    const money = await customRole(ann, ['billing:manage', 'posts:read']);
    for (const change of [{ permissions: [] }, { name: 'x' }, { permissions: ['posts:read', 'billing:update'] }])
      expect((await admin.client.put(`/roles/${money.id}`, change)).status).toBe(403);
    expect((await admin.client.delete(`/roles/${money.id}`)).status).toBe(403);
    const bob = await join(ann, (await customRole(ann, ['roles:manage', 'posts:read'])).id);
    const own = (await bob.client.get('/user/self')).body.role;
    // not even for oneself
    expect((await bob.client.put(`/roles/${own}`, { permissions: ['roles:manage', 'posts:manage'] })).status).toBe(403);
  });

  test('reject unknown permissions by position, and number at most 50, also under concurrency [S48, X25]', async () => {
    const ann = await app.signUp();
    const { status, body } = await ann.client.post('/roles', { name: 'x', permissions: ['posts:read', 'posts:fly'] });
    expect([status, body.errors[0].field]).toEqual([400, 'permissions.1']);
    expect((await ann.client.post('/roles', { name: '', permissions: [] })).body.errors[0].field).toBe('name');
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => ann.client.post('/roles', { name: `Role ${n}`, permissions: [] })),
    );
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(50);
    expect(answers.filter((answer) => answer.status === 400)).toHaveLength(10);
  });
});

describe('permissions changed concurrently', () => {
  test('are read behind the lock: a role made by an admin demoted at that moment never exceeds a viewer [S46, X13]', async () => {
    for (let round = 0; round < 5; round++) {
      const ann = await app.signUp();
      const admin = await join(ann, 'admin');
      const [demoted, made] = await Promise.all([
        ann.client.put(`/members/${admin.userId}`, { role: 'viewer' }),
        admin.client.post('/roles', { name: 'Mine', permissions: ['posts:manage'] }),
      ]);
      expect(demoted.status).toBe(200);
      expect([
        [201, ['role.created', 'member.updated']],
        [403, ['member.updated']],
      ]).toContainEqual([made.status, await notes(ann.orgId)]);
    }
  });
});
