import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { AppError, newId, sha256, systemClock } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { makeApp, opens, type OrgApp, tokensFor } from '../../support/worlds/oauth.ts';

// Access tokens as credentials. What is asked here is answered by the ladder: handlers of the public API only say that
// they were reached.
const declared = routes.map((route): AnyRoute =>
  route.path.startsWith('/public/v1/') && !['/public/v1/is-connected', '/public/v1/openapi.json'].includes(route.path)
    ? {
        ...route,
        handle: async ({ principal }) => {
          throw new AppError('conflict', `Reached as ${principal.kind} of ${principal.orgId}`);
        },
      }
    : route,
);
/**
 * Time passes only by the test: what is remembered for less than a second is neither renewed nor old meanwhile, however
 * slow the machine is.
 */
let elapsed = 0;
const clock = { ...systemClock, monotonic: () => elapsed };
const pass = (ms: number) => void (elapsed += ms);
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
/** Another process on the same database. */
let elsewhere: TestApp;
let ann: SignedUp;
let bob: SignedUp;
let client: OrgApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, routes: declared, clock });
  elsewhere = await testApp({ sql: db.sql, routes: declared, clock });
  await app.signUp();
  ann = await app.signUp();
  bob = await app.signUp();
  client = await makeApp(ann);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await elsewhere[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const open = routes.filter(({ path, auth }) => path.startsWith('/public/v1/') && auth.includes('oauth'));
const named = (list: readonly AnyRoute[]): [string, AnyRoute][] =>
  list.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]);
const ask = (route: AnyRoute, token: string) =>
  app
    .client()
    .send(route.method.toUpperCase(), route.path.replace(/:\w+/g, newId()), route.method === 'get' ? undefined : {}, {
      authorization: `Bearer ${token}`,
    });

describe('the public API', () => {
  test('accepts every form of the header and resolves the token to org and user [AU12, S13]', async () => {
    const { access } = await tokensFor(app, bob, client);
    for (const authorization of [access, `Bearer ${access}`, `bearer ${access}`, `BEARER   ${access}`]) {
      const answer = await app.client().get('/public/v1/integrations', { authorization, showorg: ann.orgId });
      expect([authorization, answer.body.message]).toEqual([authorization, `Reached as oauth of ${bob.orgId}`]);
    }
    const last = app.answered.at(-1)!;
    expect([last.userId, last.orgId]).toEqual([bob.userId, bob.orgId]);
    expect((await app.client().get(`/public/v1/integrations?apiKey=${access}`)).status).toBe(401);
  });

  test('covers routes that read and routes that write', () => {
    expect(open.filter(({ method }) => method === 'get').length).toBeGreaterThan(4);
    expect(open.filter(({ method }) => method !== 'get').length).toBeGreaterThan(4);
  });

  let read: string;
  let write: string;
  beforeAll(async () => {
    read = (await tokensFor(app, bob, client, { scope: 'mcp:read' })).access;
    write = (await tokensFor(app, bob, client)).access;
  });
  test.each(named(open))(
    '%s: reading needs mcp:read, every other verb mcp:posts:write [S89, MC10, MC8]',
    async (_, route) => {
      const reads = route.method === 'get';
      const [narrow, wide] = [await ask(route, read), await ask(route, write)];
      expect([narrow.status === 403, narrow.body.code === 'insufficient_scope']).toEqual([!reads, !reads]);
      expect([wide.status === 403, wide.status === 401]).toEqual([false, false]);
    },
  );

  test('lets a token without granted scopes read [MC9]', async () => {
    const { access } = await tokensFor(app, bob, client);
    await db.sql`update oauth_tokens set scope = '{}' where access_hash = ${sha256(access)}`;
    expect(await opens(app, access)).toBe(200);
    expect((await app.client().post('/public/v1/webhooks', {}, { authorization: access })).body.code).toBe(
      'insufficient_scope',
    );
  });

  test('limits a token to the role of its user: that of a viewer writes nothing, whatever was approved [S89]', async () => {
    const cid = await app.signUp();
    const { access } = await tokensFor(app, cid, client);
    const create = () => app.client().post('/public/v1/webhooks', {}, { authorization: access });
    const as = async (role: string) => {
      await db.sql`update memberships set role_key = ${role} where user_id = ${cid.userId}`;
      app.context.oauth.access.forgetAll();
      return (await create()).body.code;
    };
    const [role] = await db.sql`
        insert into roles (id, org_id, name, permissions)
        values (${newId()}, ${cid.orgId}, 'Hooks', '{webhooks:create}')
        returning id`;
    const [foreign] = await db.sql`
        insert into roles (id, org_id, name, permissions)
        values (${newId()}, ${ann.orgId}, 'Hooks', '{webhooks:create}')
        returning id`;
    expect([await as('viewer'), await as(role!['id']), await as(foreign!['id']), await as('owner')]).toEqual([
      'forbidden',
      'validation_failed',
      'forbidden',
      'validation_failed',
    ]);
  });

  test.each(named(routes.filter(({ auth }) => auth.includes('session') && !auth.includes('oauth'))))(
    '%s rejects a token [S14]',
    async (_, route) => {
      expect((await ask(route, write)).status).toBe(401);
    },
  );

  test('an invalid header is not rescued by a valid cookie [S14]', async () => {
    expect((await bob.client.get('/public/v1/is-connected', { authorization: `pos_${'x'.repeat(43)}` })).status).toBe(
      401,
    );
  });

  test('records the use of a token in batches, not on each request', async () => {
    const cid = await app.signUp();
    const { access } = await tokensFor(app, cid, client);
    await app.context.oauth.access.flush(); // what tests before this one used
    db.statements.length = 0;
    for (let n = 0; n < 20; n += 1) await opens(app, access);
    await app.context.oauth.access.flush();
    const [{ last_used_at: used } = {}] =
      await db.sql`select last_used_at from oauth_authorizations where user_id = ${cid.userId}`;
    expect([db.statements.filter((text) => /update oauth_authorizations/.test(text)).length, used]).toEqual([
      1,
      expect.any(Date),
    ]);
  });
});

describe('the end of a token', () => {
  const ends: [
    string,
    (of: { user: SignedUp; access: string; refresh: string; app: OrgApp; owner: SignedUp }) => Promise<unknown>,
  ][] = [
    [
      'it expired',
      ({ access }) => db.sql`update oauth_tokens set access_expires_at = now() where access_hash = ${sha256(access)}`,
    ],
    ['it was revoked', ({ access }) => app.client().post('/oauth/revoke', { token: access })],
    ['its refresh token was revoked', ({ refresh }) => app.client().post('/oauth/revoke', { token: refresh })],
    [
      'the user revoked the authorization',
      async ({ user }) =>
        user.client.delete(`/user/approved-apps/${(await user.client.get('/user/approved-apps')).body[0].id}`),
    ],
    ['the app was deleted', ({ owner }) => owner.client.delete('/user/oauth-app')],
    ['the member was removed', ({ user }) => db.sql`delete from memberships where user_id = ${user.userId}`],
    [
      'the member was disabled',
      ({ user }) => db.sql`update memberships set disabled = true where user_id = ${user.userId}`,
    ],
    ['the org was shut', ({ user }) => db.sql`update organizations set disabled_at = now() where id = ${user.orgId}`],
    ['the org was deleted', ({ user }) => db.sql`update organizations set deleted_at = now() where id = ${user.orgId}`],
    ['the user was deleted', ({ user }) => db.sql`update users set deleted_at = now() where id = ${user.userId}`],
  ];
  test.each(ends)(
    '%s: 401 Invalid OAuth token within a second in every process; the token cannot be refreshed [OA18, OA22, OA38, S12]',
    async (what, end) => {
      const owner = await app.signUp();
      const user = await app.signUp();
      const orgApp = await makeApp(owner);
      const { access, refresh } = await tokensFor(app, user, orgApp);
      expect([await opens(app, access), await opens(elsewhere, access)]).toEqual([200, 200]);
      await end({ user, access, refresh, app: orgApp, owner });
      pass(1_000);
      expect([await opens(app, access), await opens(elsewhere, access)]).toEqual([401, 401]);
      const { status, body } = await app.client().get('/public/v1/is-connected', { authorization: access });
      expect([status, body.msg]).toEqual([401, 'Invalid OAuth token']);
      if (what === 'it expired' || what === 'it was revoked') return; // the refresh token lives on
      const again = await app.client().post('/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: refresh,
        client_id: orgApp.clientId,
        client_secret: orgApp.clientSecret,
      });
      expect([400, 401]).toContain(again.status);
    },
  );

  test('a user who rejoins an org does not regain the earlier tokens', async () => {
    const user = await app.signUp();
    const { access, refresh } = await tokensFor(app, user, client);
    await db.sql`delete from memberships where user_id = ${user.userId}`;
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${user.orgId}, ${user.userId}, 'owner')`;
    pass(1_000);
    expect(await opens(app, access)).toBe(401);
    const again = await app.client().post('/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: refresh,
      client_id: client.clientId,
      client_secret: client.clientSecret,
    });
    expect(again.body.error).toBe('invalid_grant');
  });
});

test('200 concurrent requests with one token share one look-up of it [AU12]', async () => {
  const { access } = await tokensFor(app, bob, client);
  pass(1_000); // nothing is remembered, and no look-up of before is under way
  db.statements.length = 0;
  await Promise.all(Array.from({ length: 200 }, () => app.context.oauth.access.authenticate(access)));
  expect(db.statements.filter((text) => text.includes('oauth_tokens'))).toHaveLength(1);
  await opens(app, access);
  expect(db.statements.filter((text) => text.includes('oauth_tokens'))).toHaveLength(1);
});
