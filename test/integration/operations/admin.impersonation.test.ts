import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type AnyRoute, impersonationOf } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { emptyAuditLog } from '../../support/worlds/audit.ts';
import { Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { type TestDatabase, testDatabase } from '../../support/wire/database.ts';
import { example, inputSchema } from '../../support/worlds/example.ts';

let db: TestDatabase;
let app: TestApp;
let root: SignedUp;
let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  root = await app.signUp({ company: 'The operator' }); // the first: a super-admin
  ann = await app.signUp({ company: 'Heron Ltd' });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await root.client.delete('/admin/impersonate');
  await emptyAuditLog(db.sql);
});

const REASON = 'She asked for help';
const begin = (userId = ann.userId, client: Client = root.client, more: object = {}) =>
  client.post('/admin/impersonate', { userId, reason: REASON, ...more });
const tokenOf = async () => (await begin(ann.userId, root.client, { returnToken: true })).body.token as string;
/** The super-admin as a client without cookies. */
const plain = (token: string | undefined, session = root.client.cookies.get('auth')) => {
  const client = new Client(app.address);
  client.headers = { auth: session!, ...(token !== undefined && { impersonate: token }) };
  return client;
};
const noted = () => db.sql<{ action: string; user: string; by: string | null; org: string | null; detail: object }[]>`
  select action, user_id as "user", impersonator_id as by, org_id as org, detail from audit_log order by id`;

describe('POST /admin/impersonate', () => {
  test('lets a super-admin act as the user for an hour by cookie, in the org and with the rights of the user [S212, S42]', async () => {
    const { status, body, headers } = await begin();
    expect([status, body]).toEqual([200, { userId: ann.userId, email: ann.email, expiresAt: expect.any(String) }]);
    expect(Date.parse(body.expiresAt) - Date.now()).toBeGreaterThan(3_500_000);
    expect(Date.parse(body.expiresAt) - Date.now()).toBeLessThan(3_610_000);
    expect(headers.getSetCookie().find((line) => line.startsWith('impersonate='))).toMatch(
      /; Max-Age=3600; Path=\/; Secure; SameSite=Lax; HttpOnly$/,
    );
    const { body: self } = await root.client.get('/user/self');
    expect(self).toMatchObject({
      id: ann.userId,
      orgId: ann.orgId,
      orgName: 'Heron Ltd',
      role: 'owner',
      impersonate: true,
      isSuperAdmin: false,
      admin: false,
    });
    expect((await ann.client.get('/user/self')).body.impersonate).toBe(false);
  });

  test('accepts the token by header; the answer includes it on request [S212]', async () => {
    expect((await plain(await tokenOf()).get('/user/self')).body).toMatchObject({ id: ann.userId, impersonate: true });
    expect((await plain(undefined).get('/user/self')).body).toMatchObject({ id: root.userId, impersonate: false });
  });

  test('keeps the super-admin on super-admin routes; `DELETE` ends it [S212]', async () => {
    await begin();
    expect((await root.client.get('/admin/queue')).status).toBe(200);
    const { status, body, headers } = await root.client.delete('/admin/impersonate');
    expect([status, body]).toEqual([200, { success: true }]);
    expect(headers.getSetCookie().some((line) => line.startsWith('impersonate=; Max-Age=0'))).toBe(true);
    expect((await root.client.get('/user/self')).body).toMatchObject({
      id: root.userId,
      impersonate: false,
      isSuperAdmin: true,
    });
  });

  test('needs a super-admin, a target who is not one, and a reason [S210, S212]', async () => {
    expect((await begin(root.userId, ann.client)).body.code).toBe('super_admin_required');
    expect([(await begin(newId())).status, (await begin('nobody')).status]).toEqual([404, 400]);
    const second = await app.signUp();
    await db.sql`update users set is_super_admin = true where id = ${second.userId}`;
    expect((await begin(second.userId)).body.code).toBe('conflict');
    await db.sql`update users set is_super_admin = false where id = ${second.userId}`;
    expect((await root.client.post('/admin/impersonate', { userId: ann.userId })).body.errors[0].field).toBe('reason');
    expect((await root.client.post('/admin/impersonate', { userId: ann.userId, reason: '  ' })).status).toBe(400);
    expect((await noted()).filter(({ action }) => action.startsWith('impersonation'))).toEqual([]);
  });
});

describe('audit log of an impersonation', () => {
  test('has both ids at the begin with the reason, at each attempt and change, and at the end [S212, S270]', async () => {
    await begin();
    await root.client.get('/user/api-keys');
    await root.client.post('/orgs', { name: 'Of hers' });
    await root.client.delete('/admin/impersonate');
    const lines = await noted();
    expect(lines[0]).toEqual({
      action: 'impersonation.begun',
      user: root.userId,
      by: null,
      org: null,
      detail: { reason: REASON },
    });
    const acted = { action: 'impersonation.acted', user: ann.userId, by: root.userId, org: ann.orgId };
    expect(lines[1]).toEqual({ ...acted, detail: { method: 'GET', route: '/user/api-keys' } });
    expect(lines[2]).toEqual({ ...acted, detail: { method: 'POST', route: '/orgs' } });
    expect(lines.at(-1)).toMatchObject({ action: 'impersonation.ended', user: root.userId });
    for (const line of lines.slice(1, -1)) expect([line.user, line.by]).toEqual([ann.userId, root.userId]);
    const shown = (await ann.client.get('/settings/audit')).body.items;
    expect(
      shown.map(({ userId, impersonatorId }: { userId: string; impersonatorId: string }) => [userId, impersonatorId]),
    ).toContainEqual([ann.userId, root.userId]);
  });

  test('has the end of one that another of the session replaces [S212, S270]', async () => {
    await begin();
    await begin();
    const actions = (await noted()).map(({ action }) => action);
    expect(actions).toEqual(['impersonation.begun', 'impersonation.ended', 'impersonation.begun']);
  });

  test('has no entry for a request that CSRF refuses', async () => {
    await begin();
    expect((await root.client.post('/orgs', { name: 'Of hers' }, { 'x-csrf-token': undefined })).body.code).toBe(
      'csrf_failed',
    );
    expect((await noted()).map(({ action }) => action)).toEqual(['impersonation.begun']);
  });
});

describe('reads during an impersonation', () => {
  let bob: SignedUp;
  beforeAll(async () => {
    bob = await app.signUp();
  });
  const reads = async () =>
    (await noted()).flatMap(({ action, detail }) => (action === 'impersonation.acted' ? [detail] : []));
  const readable = routes.filter(
    (route) => route.method === 'get' && route.auth.includes('session') && impersonationOf(route) === 'allowed',
  );

  test.each(readable.map((route): [string, AnyRoute] => [route.path, route]))(
    'GET %s is logged under both names [S212]',
    async (_, route) => {
      await begin(bob.userId);
      await root.client.get(route.path.replace(/:\w+/g, newId()));
      // a query that is refused was read by nobody
      const { status, body } = await root.client.get(route.path.replace(/:\w+/g, newId()));
      const lines = (await noted()).filter(({ action }) => action === 'impersonation.acted');
      expect(lines).toEqual(
        status === 400 && body.code === 'validation_failed'
          ? []
          : [
              {
                action: 'impersonation.acted',
                user: bob.userId,
                by: root.userId,
                org: bob.orgId,
                detail: { method: 'GET', route: route.path },
              },
            ],
      );
    },
  );

  test('are one entry a route and minute, however often a page polls', async () => {
    await begin((await app.signUp()).userId);
    for (let n = 0; n < 3; n += 1) await root.client.get('/user/self');
    await root.client.get('/user/organizations');
    expect(await reads()).toEqual([
      { method: 'GET', route: '/user/self' },
      { method: 'GET', route: '/user/organizations' },
    ]);
  });
});

describe('actions refused during an impersonation', () => {
  const refused = routes.filter((route) => route.auth.includes('session') && impersonationOf(route) === 'refused');
  const named = (list: readonly AnyRoute[]): [string, AnyRoute][] =>
    list.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]);

  test('include billing, passwords, key creation and grants of the rights of the user [S212]', () => {
    const names = new Set(named(refused).map(([name]) => name));
    for (const name of [
      'POST /user/change-password',
      'POST /user/change-email',
      'POST /user/api-keys',
      'POST /user/api-keys/:id/rotate',
      'DELETE /user',
      'DELETE /orgs/current',
      'POST /orgs/current/transfer',
      'POST /oauth/authorize',
      'POST /user/oauth-app',
      'PUT /user/oauth-app',
      'POST /user/oauth-app/rotate-secret',
      'PUT /members/:id',
      'POST /members/invitations',
      'POST /settings/team',
      'POST /roles',
      'PUT /roles/:id',
      'POST /device/approve',
      'POST /device/find',
    ])
      expect([name, names.has(name)]).toEqual([name, true]);
  });

  const closed =
    /^\/(billing|members|roles|settings\/team|user\/(api-keys|sessions|oauth-app|approved-apps|change-password|change-email|join-org|leave-org))/;
  const changes = routes.filter(({ method, auth }) => method !== 'get' && auth.includes('session'));
  test.each(
    named(
      changes.filter(
        ({ path, permission }) =>
          closed.test(path) || /^(members|roles|api_keys|billing|oauth_apps):/.test(permission ?? ''),
      ),
    ),
  )(
    '%s is refused: billing, passwords, keys, sessions, apps, roles, members, invitations, joining and leaving [S212]',
    (_, route) => {
      expect(impersonationOf(route)).toBe('refused');
    },
  );

  test('include nothing that models write or make, on any of its routes [S212]', () => {
    const made = changes.filter(({ path }) => /^\/(ai|files|media)\//.test(path));
    expect(made.length).toBeGreaterThan(20);
    expect(named(made).flatMap(([name, route]) => (impersonationOf(route) === 'allowed' ? [] : [name]))).toEqual([]);
  });

  test('include every change whose declaration does not allow it [S212]', () => {
    const undeclared = changes.filter(({ impersonation }) => impersonation === undefined);
    expect(undeclared.length).toBeGreaterThan(5);
    expect(undeclared.map(impersonationOf)).toEqual(undeclared.map(() => 'refused'));
  });

  test.each(named(refused))('%s answers 403 and changes nothing [S212]', async (_, route) => {
    await begin();
    const body = route.method === 'get' ? undefined : route.body ? example(inputSchema(route.body)) : {};
    const { status, body: answer } = await root.client.send(
      route.method.toUpperCase(),
      route.path.replace(/:\w+/g, newId()),
      body,
    );
    expect([status, answer.code ?? answer.error]).toEqual([403, route.errors ? 'access_denied' : 'forbidden']);
    expect((await noted()).map(({ action }) => action)).toEqual(['impersonation.begun']); // it came to no handler
  });
});

describe('an invalid impersonation is 401 and its cookie is cleared', () => {
  const isRefused = async (client: Client, headers: Record<string, string> = {}) => {
    const { status, body, headers: answered } = await client.get('/user/self', headers);
    expect([status, body.code]).toEqual([401, 'invalid_token']);
    expect(answered.getSetCookie().some((line) => line.startsWith('impersonate=; Max-Age=0'))).toBe(true);
  };

  test('when it has ended, after its hour, and after another one begins in the same session [S212]', async () => {
    const ended = await tokenOf();
    await root.client.delete('/admin/impersonate');
    await isRefused(plain(ended));
    const old = await tokenOf();
    await db.sql`update impersonations set expires_at = now() - interval '1 second' where ended_at is null`;
    await isRefused(plain(old));
    const [first, second] = [await tokenOf(), await tokenOf()];
    await isRefused(plain(first));
    expect((await plain(second).get('/user/self')).status).toBe(200);
  });

  test('when it is of another super-admin, of another session, or of a user who is not a super-admin', async () => {
    const token = await tokenOf();
    const other = await app.signUp();
    await db.sql`update users set is_super_admin = true where id = ${other.userId}`;
    await isRefused(plain(token, other.client.cookies.get('auth')));
    await db.sql`update users set is_super_admin = false where id = ${other.userId}`;
    await isRefused(plain(token, other.client.cookies.get('auth')));
    await isRefused(plain(token, ann.client.cookies.get('auth')));
    const again = app.client();
    await again.post('/auth/login', { provider: 'LOCAL', email: root.email, password: root.password });
    await isRefused(plain(token, again.cookies.get('auth')));
  });

  test('when the user is deactivated, becomes a super-admin or loses every org', async () => {
    const bob = await app.signUp();
    const token = (await begin(bob.userId, root.client, { returnToken: true })).body.token;
    for (const [change, back] of [
      [
        db.sql`update users set activated = false where id = ${bob.userId}`,
        db.sql`update users set activated = true where id = ${bob.userId}`,
      ],
      [
        db.sql`update users set is_super_admin = true where id = ${bob.userId}`,
        db.sql`update users set is_super_admin = false where id = ${bob.userId}`,
      ],
      [
        db.sql`update memberships set disabled = true where user_id = ${bob.userId}`,
        db.sql`update memberships set disabled = false where user_id = ${bob.userId}`,
      ],
    ] as const) {
      expect((await plain(token).get('/user/self')).body.id).toBe(bob.userId);
      await change;
      await isRefused(plain(token));
      await back;
    }
  });

  test('when the token is of another kind; its own token is not accepted as another kind [S28]', async () => {
    const [session, token] = [root.client.cookies.get('auth')!, await tokenOf()];
    for (const odd of [session, '', 'x', 'x.y.z', `${token}x`, token.slice(0, -1)].filter(Boolean))
      await isRefused(plain(odd));
    expect((await app.client().get('/user/self', { auth: token })).status).toBe(401);
    expect((await app.client().get('/user/self', { cookie: `auth=${token}` })).status).toBe(401);
    expect((await app.client().get('/user/self', { impersonate: token })).status).toBe(401); // alone it opens nothing
  });

  test('when the super-admin is demoted or the session has ended', async () => {
    const boss = await app.signUp();
    await db.sql`update users set is_super_admin = true where id = ${boss.userId}`;
    const token = (await begin(ann.userId, boss.client, { returnToken: true })).body.token;
    const acting = plain(token, boss.client.cookies.get('auth'));
    expect((await acting.get('/user/self')).body.id).toBe(ann.userId);
    await db.sql`update users set is_super_admin = false where id = ${boss.userId}`;
    await isRefused(acting);
    await db.sql`update users set is_super_admin = true where id = ${boss.userId}`;
    await db.sql`update sessions set revoked_at = now() where user_id = ${boss.userId}`;
    expect((await acting.get('/user/self')).body.code).toBe('session_revoked');
    await db.sql`update users set is_super_admin = false where id = ${boss.userId}`;
  });
});

test('logging out during an impersonation ends the session of the super-admin and not that of the user [S212]', async () => {
  const boss = await app.signUp();
  await db.sql`update users set is_super_admin = true where id = ${boss.userId}`;
  await begin(ann.userId, boss.client);
  const { status, headers } = await boss.client.post('/auth/logout');
  expect(status).toBe(200);
  expect(headers.getSetCookie().some((line) => line.startsWith('impersonate=; Max-Age=0'))).toBe(true);
  expect((await ann.client.get('/user/self')).status).toBe(200);
  expect((await boss.client.get('/user/self')).status).toBe(401);
  await db.sql`update users set is_super_admin = false where id = ${boss.userId}`;
});

test('ended impersonations are deleted a day later', async () => {
  await begin();
  await db.sql`update impersonations set expires_at = now() - interval '2 days'`;
  const { length } = await db.sql`select 1 from impersonations`;
  expect([
    await app.context.admin.dropOldImpersonations(500),
    await app.context.admin.dropOldImpersonations(500),
  ]).toEqual([length, 0]);
});
