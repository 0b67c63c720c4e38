import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { type TestDatabase, testDatabase } from '../../support/wire/database.ts';
import { makeApp, tokensFor } from '../../support/worlds/oauth.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';

let db: TestDatabase;
let app: TestApp;
let root: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  root = await app.signUp({ company: 'The operator' }); // the first: a super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const actions = async (resourceId: string) =>
  (
    await db.sql<
      { action: string; by: string | null }[]
    >`select action, user_id as by from audit_log where resource_id = ${resourceId} order by id`
  ).map(({ action, by }) => [action, by]);

describe('orgs', () => {
  test('are listed newest first with tier, members and channels, found by a part of the name or the id, and page by page [S211]', async () => {
    const names = ['Blue heron', 'Blue 100%_heron', 'Kingfisher'];
    const made: SignedUp[] = [];
    for (const company of names) made.push(await app.signUp({ company }));
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${newId()}, ${made[2]!.orgId}, 'sandbox', 'v1', 'a', 'A', 'x')`;
    const { body } = await root.client.get('/admin/orgs?limit=3');
    expect(body.items.map(({ name }: { name: string }) => name)).toEqual(names.toReversed());
    expect(body.items[0]).toEqual({
      id: made[2]!.orgId,
      name: 'Kingfisher',
      tier: 'AGENCY',
      members: 1,
      channels: 1,
      createdAt: expect.any(String),
      disabled: false,
    });
    const next = await root.client.get(`/admin/orgs?limit=3&cursor=${body.nextCursor}`);
    expect([next.body.items.map(({ name }: { name: string }) => name), next.body.nextCursor]).toEqual([
      ['The operator'],
      null,
    ]);
    const found = async (search: string) =>
      (await root.client.get(`/admin/orgs?search=${encodeURIComponent(search)}`)).body.items.map(
        ({ name }: { name: string }) => name,
      );
    expect(await found('BLUE')).toEqual(['Blue 100%_heron', 'Blue heron']);
    expect([await found('100%_'), await found('%'), await found(made[0]!.orgId), await found("' or true --")]).toEqual([
      ['Blue 100%_heron'],
      ['Blue 100%_heron'],
      ['Blue heron'],
      [],
    ]);
  });

  test('one org is shown with its limits [S211]', async () => {
    const ann = await app.signUp();
    const { status, body } = await root.client.get(`/admin/orgs/${ann.orgId}`);
    expect(status).toBe(200);
    expect(Object.keys(body.limits).toSorted()).toEqual([
      'brand_kits',
      'channel',
      'competitors',
      'posts_per_month',
      'storage_gb',
      'team_members',
      'video_exports',
      'webhooks',
    ]);
    expect(body.limits.channel).toMatchObject({ override: null, used: 0 });
    for (const id of [newId(), 'nothing'])
      expect((await root.client.get(`/admin/orgs/${id}`)).body.code).toBe('not_found');
  });

  test('are refused within a minute when disabled, members and keys alike, and work again when enabled [S211, S53]', async () => {
    const ann = await app.signUp();
    const key = await ann.withKey();
    expect([(await ann.client.get('/user/self')).status, (await key.get('/public/v1/is-connected')).status]).toEqual([
      200, 200,
    ]);
    const shut = await root.client.send('PATCH', `/admin/orgs/${ann.orgId}`, { disabled: true });
    expect([shut.status, shut.body.disabled]).toEqual([200, true]);
    expect((await ann.client.get('/user/self')).status).toBe(401);
    const opens = (status: number) => async () => (await key.get('/public/v1/is-connected')).status === status;
    await eventually('the key is not remembered any more', opens(401));
    expect((await root.client.send('PATCH', `/admin/orgs/${ann.orgId}`, { disabled: true })).status).toBe(200);
    expect((await root.client.send('PATCH', `/admin/orgs/${ann.orgId}`, { disabled: false })).body.disabled).toBe(
      false,
    );
    expect((await ann.client.get('/user/self')).status).toBe(200);
    await eventually('the key works again', opens(200));
    expect(await actions(ann.orgId)).toEqual([
      ['organization.disabled', root.userId],
      ['organization.enabled', root.userId],
    ]);
  });

  test('leave a member of two orgs active in the other one when one is disabled', async () => {
    const ann = await app.signUp();
    const other = (await ann.client.post('/orgs', { name: 'Another one' })).body.id;
    await root.client.send('PATCH', `/admin/orgs/${ann.orgId}`, { disabled: true });
    expect((await ann.client.get('/user/self')).body.orgId).toBe(other);
    expect((await ann.client.post('/user/change-org', { id: ann.orgId })).status).toBe(404);
  });

  test('pause queued posts while disabled and resume them when enabled; a requeued post is paused again [S211]', async () => {
    const ann = await app.signUp();
    const [channel, soon, running] = [newId(), newId(), newId()];
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials, next_due_at)
      values (${channel}, ${ann.orgId}, 'sandbox', 'v1', 'queue', 'A', 'x', now() + interval '1 hour')`;
    for (const [id, detail] of [
      [soon, 'scheduled'],
      [running, 'publishing'],
    ] as const)
      await db.sql`
        insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
        values (${id}, ${ann.orgId}, ${channel}, ${id}, 'QUEUE', ${detail}, 'x', now() + interval '1 hour',
          now() + interval '1 hour')`;
    const details = async () =>
      (await db.sql<{ detail: string }[]>`select detail from posts where org_id = ${ann.orgId} order by seq`).map(
        ({ detail }) => detail,
      );
    const dueAt = async () => (await db.sql`select next_due_at from channels where id = ${channel}`)[0]!['next_due_at'];

    await root.client.send('PATCH', `/admin/orgs/${ann.orgId}`, { disabled: true });
    expect([await details(), await dueAt()]).toEqual([['paused', 'publishing'], null]);

    // The attempt that was under way fails, and is to be repeated.
    await db.sql`update posts set detail = 'retrying' where id = ${running}`;
    await db.sql`update channels set next_due_at = now() where id = ${channel}`;
    {
      await using _refused = await refuseRows(db.sql, 'update', 'posts', `old.id = '${running}'`);
      expect(await app.context.admin.orgs.keepStill(100)).toBe(0); // it fails alone, and is tried again
    }
    expect([await app.context.admin.orgs.keepStill(100), await app.context.admin.orgs.keepStill(100)]).toEqual([1, 0]);
    expect([await details(), await dueAt()]).toEqual([['paused', 'paused'], null]);

    await root.client.send('PATCH', `/admin/orgs/${ann.orgId}`, { disabled: false });
    expect([await details(), await dueAt()]).toEqual([['scheduled', 'scheduled'], expect.any(Date)]);
  });

  test('are not disabled by a super-admin acting for them; unknown fields are refused', async () => {
    const { status, body } = await root.client.send('PATCH', `/admin/orgs/${root.orgId}`, { disabled: true });
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(
      (await root.client.send('PATCH', `/admin/orgs/${root.orgId}`, { disabled: 'yes' })).body.errors[0].field,
    ).toBe('disabled');
    expect((await root.client.send('PATCH', `/admin/orgs/${newId()}`, { disabled: true })).status).toBe(404);
  });
});

describe('users', () => {
  const change = (id: string, body: object, client: Client = root.client) =>
    client.send('PATCH', `/admin/users/${id}`, body);

  test('are listed newest first, and found by a part of the address, of the name, or by the id [S211]', async () => {
    const ann = await app.signUp({ email: 'ann.heron@birds.example' });
    await db.sql`update user_profiles set name = 'Ann', last_name = 'Heron' where user_id = ${ann.userId}`;
    await app.context.auth.sessions[Symbol.asyncDispose](); // writes her use now, not between two answers
    const found = async (search: string) =>
      (await root.client.get(`/admin/users?search=${encodeURIComponent(search)}`)).body.items;
    const [row, ...more] = await found('BIRDS.example');
    expect(more).toEqual([]);
    expect(row).toEqual({
      id: ann.userId,
      email: 'ann.heron@birds.example',
      name: 'Ann',
      lastName: 'Heron',
      providerName: 'local',
      activated: true,
      isSuperAdmin: false,
      lastOnline: expect.any(String),
      createdAt: expect.any(String),
      orgs: 1,
    });
    expect([await found('ann heron'), await found(ann.userId)]).toEqual([[row], [row]]);
    expect((await root.client.get('/admin/users')).body.items[0].id).toBe(ann.userId);
  });

  test('are logged out at once when deactivated, and their keys are refused [S211]', async () => {
    const ann = await app.signUp();
    const key = await ann.withKey();
    expect((await change(ann.userId, { activated: false })).body.activated).toBe(false);
    expect((await ann.client.get('/user/self')).status).toBe(401);
    expect((await key.get('/public/v1/is-connected')).status).toBe(401);
    expect(
      (await app.client().post('/auth/login', { provider: 'LOCAL', email: ann.email, password: ann.password })).status,
    ).toBe(400);
    await change(ann.userId, { activated: true });
    expect(
      (await app.client().post('/auth/login', { provider: 'LOCAL', email: ann.email, password: ann.password })).status,
    ).toBe(200);
    expect(await actions(ann.userId)).toEqual(expect.arrayContaining([['user.changed', root.userId]]));
  });

  test('lose their sessions and keep their keys when a super-admin ends the sessions; they may log in again', async () => {
    const ann = await app.signUp();
    const key = await ann.withKey();
    const end = (id: string, client: Client = root.client) => client.post(`/admin/users/${id}/sessions/revoke-all`, {});
    expect((await end(ann.userId, ann.client)).status).toBe(403);
    expect((await end(ann.userId)).body).toEqual({ success: true, revoked: 1 });
    expect([(await ann.client.get('/user/self')).status, (await root.client.get('/user/self')).status]).toEqual([
      401, 200,
    ]);
    expect((await key.get('/public/v1/is-connected')).status).toBe(200);
    expect(
      (await app.client().post('/auth/login', { provider: 'LOCAL', email: ann.email, password: ann.password })).status,
    ).toBe(200);
    expect(await actions(ann.userId)).toEqual(expect.arrayContaining([['user.sessions_ended', root.userId]]));
    expect((await end(newId())).status).toBe(404);
  });

  test('lose all sessions of the instance except that of the requesting super-admin', async () => {
    const [ann, bob] = [await app.signUp(), await app.signUp()];
    const other = app.client();
    await other.post('/auth/login', { provider: 'LOCAL', email: root.email, password: root.password });
    expect((await ann.client.post('/admin/sessions/revoke-all', {})).status).toBe(403);
    const { status, body } = await root.client.post('/admin/sessions/revoke-all', {});
    expect([status, body.success, body.revoked >= 3]).toEqual([200, true, true]);
    const statuses = await Promise.all(
      [ann.client, bob.client, other, root.client].map(async (client) => (await client.get('/user/self')).status),
    );
    expect(statuses).toEqual([401, 401, 401, 200]);
    expect(
      await db.sql`select 1 from audit_log where action = 'instance.sessions_ended' and user_id = ${root.userId}`,
    ).toHaveLength(1);
  });

  test('answer 409 to the demotion of the last super-admin [S211]', async () => {
    for (const body of [{ isSuperAdmin: false }, { activated: false }]) {
      const { status, body: refused } = await change(root.userId, body);
      expect([status, refused.code]).toEqual([409, 'conflict']);
    }
    expect((await root.client.get('/user/self')).body.isSuperAdmin).toBe(true);
  });

  test('keep one super-admin when two demote each other at once, every time [S211]', async () => {
    const ann = await app.signUp();
    const set = (userId: string, to: boolean) => db.sql`
      update users set is_super_admin = ${to} where id = ${userId}`; // one row each: notes of use hold several
    for (let round = 0; round < 10; round += 1) {
      for (const { userId } of [root, ann]) await set(userId, true);
      const statuses = (
        await Promise.all([
          change(ann.userId, { isSuperAdmin: false }),
          change(root.userId, { isSuperAdmin: false }, ann.client),
        ])
      ).map(({ status }) => status);
      const left = await db.sql`select 1 from users where is_super_admin`;
      expect([left.length, statuses.filter((status) => status === 200).length]).toEqual([1, 1]);
    }
    await set(root.userId, true);
    await set(ann.userId, false);
  });

  test.each([[{}], [{ activated: 'no' }], [{ isSuperAdmin: null }], [{ email: 'x@example.com' }]])(
    '%j is refused',
    async (body) => {
      expect((await change(root.userId, body)).status).toBe(400);
    },
  );
  test('an unknown user is 404', async () => {
    expect([
      (await change(newId(), { activated: true })).status,
      (await change('nobody', { activated: true })).status,
    ]).toEqual([404, 404]);
  });
});

describe('access to the admin routes', () => {
  test('is for a super-admin by cookie with CSRF or by the header `auth`, for nobody else and no key [S210, AU6]', async () => {
    const ann = await app.signUp();
    const key = await root.withKey();
    for (const path of [
      '/admin/orgs',
      '/admin/users',
      '/admin/errors',
      '/admin/queue',
      '/admin/emails',
      '/admin/audit',
    ]) {
      expect([
        (await ann.client.get(path)).body.code,
        (await key.get(path)).status,
        (await app.client().get(path)).status,
      ]).toEqual(['super_admin_required', 401, 401]);
      expect((await app.client().get(path, { auth: root.client.cookies.get('auth') })).status).toBe(200);
    }
    const target = await app.signUp();
    expect(
      (
        await root.client.send(
          'PATCH',
          `/admin/orgs/${target.orgId}`,
          { disabled: true },
          { 'x-csrf-token': undefined },
        )
      ).body.code,
    ).toBe('csrf_failed');
    expect(
      (
        await app
          .client()
          .send('PATCH', `/admin/orgs/${target.orgId}`, { disabled: true }, { auth: root.client.cookies.get('auth') })
      ).status,
    ).toBe(200);
  });
});

describe('GET /public/v1/users', () => {
  test('is for keys of super-admins only, 403 for other keys and for access tokens [S214]', async () => {
    const ann = await app.signUp({ email: 'public-user@birds.example' });
    const [rootKey, annKey] = [await root.withKey(), await ann.withKey()];
    expect((await rootKey.get('/public/v1/users?name=public-user')).body).toEqual([
      { id: ann.userId, name: expect.any(String), email: 'public-user@birds.example' },
    ]);
    const client = await makeApp(root);
    const [rootToken, annToken] = [await tokensFor(app, root, client), await tokensFor(app, ann, client)];
    const byToken = (token: string) =>
      app.client().get('/public/v1/users?name=public-user', { authorization: `Bearer ${token}` });
    for (const { status, body } of [
      await annKey.get('/public/v1/users?name=public-user'),
      await byToken(rootToken.access),
      await byToken(annToken.access),
    ])
      expect([status, body.code]).toEqual([403, 'super_admin_required']);
    expect((await byToken('pos_wrong')).status).toBe(401);
  });
});

test('without billing every org is on AGENCY, and no plan can be given [S216]', async () => {
  const { status, body } = await root.client.send('PATCH', `/admin/orgs/${root.orgId}`, { tier: 'PRO' });
  expect([status, body.code]).toEqual([400, 'billing_disabled']);
});

test('routes of other products are not there [S215]', async () => {
  for (const path of ['/copilot/chat', '/third-party', '/sets', '/signatures', '/autopost', '/announcements'])
    expect((await root.client.get(path)).status).toBe(404);
});

describe('POST /webhooks/email', () => {
  test('is 404 without a provider that reports deliveries, and asks for no CSRF token [S172, EM6, EM9]', async () => {
    for (const [body, type] of [
      ['{}', 'application/json'],
      ['[{"event":"delivered"}]', 'application/json'],
      ['x=1', 'application/x-www-form-urlencoded'],
      ['{"Type":"Notification"}', 'text/plain'],
    ]) {
      const answer = await root.client.send('POST', '/webhooks/email', body, {
        'content-type': type,
        'x-csrf-token': undefined,
      });
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
  });
});
