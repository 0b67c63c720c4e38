import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { AppError, newId } from '../../../src/platform/kernel/index.ts';
import { ACCESS, allows, grantsOf, ROLES } from '../../fixtures/permissions.ts';
import { Client, testApp, type TestApp } from '../../support/worlds/app.ts';
import { subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { example, inputSchema } from '../../support/worlds/example.ts';

// Every route × every role, against the table that was written by hand. Handlers that judge nobody are replaced by one
// that says it was reached.

const nameOf = ({ method, path }: AnyRoute) => `${method.toUpperCase()} ${path}`;
/** They look at who asks themselves: the lists of operators and owners, and what depends on the query. */
const JUDGES = new Set([
  'GET /public/v1/users',
  'GET /public/v1/social/:provider',
  'GET /integrations/social/:provider',
  'POST /integrations/social-connect/:provider',
  'DELETE /orgs/current',
  'POST /orgs/current/transfer',
]);
/** Needed to make users and keys. */
const READY = new Set(['POST /auth/register', 'GET /user/self', 'POST /user/api-keys']);
const CUSTOM = [
  'posts:manage',
  'channels:read',
  'channels:create',
  'members:create',
  'billing:manage',
  'settings:update',
  'media:delete',
  'oauth_apps:read',
  'webhooks:update',
];

interface Asker {
  name: string;
  /** Undefined: nobody is logged in. */
  granted: readonly string[] | undefined;
  owner?: boolean;
  superAdmin?: boolean;
  session: Client;
  key: Client;
}

/** What the table says of a route and somebody: 401, 403, or neither. */
function expected(access: string, { granted, owner = false, superAdmin = false }: Asker): string {
  if (access === 'open') return 'let in';
  if (!granted) return '401';
  if (superAdmin || access === 'self') return 'let in';
  if (access === 'super-admin' || (access === 'owner' && !owner)) return '403';
  return access === 'owner' || allows(granted, access) ? 'let in' : '403';
}
const REFUSALS = new Set(['forbidden', 'super_admin_required']);
const outcome = ({ status, body }: { status: number; body: { code?: string } | undefined }): string =>
  status === 401 ? '401' : status !== 403 ? 'let in' : REFUSALS.has(body?.code ?? '') ? '403' : `403 ${body?.code}`;

const pathOf = ({ path }: AnyRoute) =>
  path.replace(/:(\w+)/g, (_, name: string) => (name === 'id' || name.endsWith('Id') ? newId() : 'something'));
const bodyOf = (route: AnyRoute) =>
  route.method === 'get' || route.input === 'stream' ? undefined : route.body ? example(inputSchema(route.body)) : {};

test('every route is in the table, and the table names no other', () => {
  expect(routes.map(nameOf).toSorted()).toEqual(Object.keys(ACCESS).toSorted());
});

describe.each([
  ['without billing', {}],
  ['with billing', WITH_BILLING],
])('%s', (_, env) => {
  let db: Awaited<ReturnType<typeof testDatabase>>;
  let app: TestApp;
  const askers: Asker[] = [];

  beforeAll(async () => {
    db = await testDatabase({ connections: 8 });
    const reached = async () => {
      throw new AppError('unavailable', 'Reached');
    };
    const served = routes.map((route): AnyRoute =>
      READY.has(nameOf(route)) || JUDGES.has(nameOf(route)) ? route : { ...route, handle: reached },
    );
    app = await testApp({ sql: db.sql, env, routes: served });
    const person = async (name: string, role: string | undefined, more: Omit<Asker, 'name' | 'session' | 'key'>) => {
      const { client, orgId, userId, withKey } = await app.signUp();
      await subscribe(db.sql, orgId, { tier: 'AGENCY' });
      await db.sql`
        insert into memberships (org_id, user_id, role_key)
        values (${orgId}, (select user_id from memberships order by created_at limit 1), 'owner')
        on conflict do nothing`; // each org keeps an owner
      const key = await withKey();
      if (role === 'custom') {
        const id = newId();
        await db.sql`insert into roles (id, org_id, name, permissions) values (${id}, ${orgId}, 'Custom', ${CUSTOM})`;
        await db.sql`update memberships set role_key = ${id} where org_id = ${orgId} and user_id = ${userId}`;
      } else if (role)
        await db.sql`update memberships set role_key = ${role} where org_id = ${orgId} and user_id = ${userId}`;
      askers.push({ name, session: client, key, ...more });
    };
    await person('a super-admin who is viewer', 'viewer', { granted: [], superAdmin: true }); // the first user
    for (const role of Object.keys(ROLES) as (keyof typeof ROLES)[])
      await person(role, role, { granted: grantsOf(role), owner: role === 'owner' });
    await person('a role of the org', 'custom', { granted: CUSTOM });
    await person('a role that is gone', newId(), { granted: [] });
    askers.push({ name: 'nobody', granted: undefined, session: app.client(), key: app.client() });
  }, 60_000);
  afterAll(async () => {
    await app[Symbol.asyncDispose]();
    await db[Symbol.asyncDispose]();
  });

  test.each(routes.map((route): [string, AnyRoute] => [nameOf(route), route]))(
    '%s admits exactly those that the table admits [RB1, RB2, RB5, RB6, ER1, S52, S54, X12]',
    async (name, route) => {
      const body = bodyOf(route);
      const seen = askers.map(async (asker) => {
        const client = route.path.startsWith('/public/v1/') || route.surface ? asker.key : asker.session;
        return [asker.name, outcome(await client.send(route.method.toUpperCase(), pathOf(route), body))];
      });
      expect(Object.fromEntries(await Promise.all(seen))).toEqual(
        Object.fromEntries(askers.map((asker) => [asker.name, expected(ACCESS[name]!, asker)])),
      );
    },
  );
});
