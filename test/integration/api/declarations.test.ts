import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { type Permission, SYSTEM_ROLES, permissionsOf } from '../../../src/people/access/index.ts';
import { AppError, newId } from '../../../src/platform/kernel/index.ts';
import { Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { example, inputSchema, wrongValues } from '../../support/worlds/example.ts';

// Generated from the declarations: a route that is added is covered on the day it is added. What is asked here is
// answered by the ladder, so every handler but those of the documents is replaced by one that only says it was reached.
let reached = 0;
async function reach(): Promise<never> {
  reached += 1;
  throw new AppError('unavailable', 'Reached');
}
const declared = routes.map((route): AnyRoute =>
  route.path.endsWith('openapi.json')
    ? route
    : {
        ...route,
        handle: reach,
        ...(route.events && { events: () => ({ [Symbol.asyncIterator]: () => ({ next: reach }) }) }),
      },
);

/** Needed to make users and keys. */
const ready = new Set(['/auth/register', '/user/self', '/user/api-keys']);

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let eve: SignedUp;
let program: Client;
const holders = new Map<string, { client: Client; key: Client }>();
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({
    sql: db.sql,
    routes: [...declared.filter(({ path }) => !ready.has(path)), ...routes.filter(({ path }) => ready.has(path))],
  });
  ann = await app.signUp(); // the first: a super-admin, who passes every permission
  eve = await app.signUp();
  program = await ann.withKey();
  for (const role of [...SYSTEM_ROLES, 'no role']) {
    const bob = await app.signUp();
    await db.sql`update memberships set role_key = ${role} where user_id = ${bob.userId}`;
    holders.set(role, { client: bob.client, key: await bob.withKey() });
  }
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const named = (list: readonly AnyRoute[]): [string, AnyRoute][] =>
  list.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]);
/** Of an MCP surface the id is that of the organization, which is looked at with the credential. */
const pathOf = ({ path, surface }: AnyRoute) =>
  path.replace(/:(\w+)/g, (_, name: string) =>
    surface ? ann.orgId : name === 'id' || name.endsWith('Id') ? newId() : 'something',
  );
const takes = (route: AnyRoute, ...kinds: AnyRoute['auth'][number][]) =>
  kinds.some((kind) => route.auth.includes(kind));
const mutating = routes.filter(({ method }) => method !== 'get');
const byCookie = mutating.filter((route) => takes(route, 'session', 'super-admin'));
const guarded = routes.filter((route) => !takes(route, 'none'));
const withJson = routes.filter(({ input }) => input !== 'stream');
/** Bodies that may hold more than is defined (S7). */
const isOpen = ({ body }: AnyRoute) =>
  body !== undefined &&
  inputSchema(body as never)['additionalProperties'] !== false &&
  inputSchema(body as never)['type'] === 'object';
/** The fields that a refusal names; OAuth clients are told in a sentence (S92). */
// oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
const namesField = (route: AnyRoute, body: any, field: string): boolean =>
  route.errors
    ? new RegExp(`(^|; )${field}[.:]`).test(body.error_description)
    : body.errors?.some((error: { field: string }) => error.field.split('.')[0] === field);
/** Someone whom the route lets in. */
const asker = (route: AnyRoute): Client =>
  takes(route, 'none') ? app.client() : takes(route, 'session', 'super-admin') ? ann.client : program;
const ask = (route: AnyRoute, body: unknown, headers: Record<string, string | undefined> = {}, client = asker(route)) =>
  client.send(route.method.toUpperCase(), pathOf(route), route.method === 'get' ? undefined : body, headers);
/** Some at once: each waits for the database more than it works. */
async function forEach<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let n = 0; n < list.length; n += 8) await Promise.all(list.slice(n, n + 8).map(work));
}

afterEach(() => {
  reached = 0;
});

test('there are routes of each kind', () => {
  expect([routes.length, byCookie.length, guarded.length, withJson.length].every((count) => count >= 15)).toBe(true);
});

describe('CSRF', () => {
  const foreign = (): [string, Record<string, string | undefined>][] => [
    ['no header', { 'x-csrf-token': undefined }],
    ['an empty header', { 'x-csrf-token': '' }],
    ['another login’s value', { 'x-csrf-token': eve.client.csrf }],
    ['a cut value', { 'x-csrf-token': ann.client.csrf!.slice(0, 63) }],
    ['no cookie', { cookie: `auth=${ann.client.cookies.get('auth')}` }],
    [
      'equal values that are no tokens',
      { cookie: `auth=${ann.client.cookies.get('auth')}; csrf_token=x`, 'x-csrf-token': 'x' },
    ],
    ['two empty values', { cookie: `auth=${ann.client.cookies.get('auth')}; csrf_token=`, 'x-csrf-token': '' }],
  ];
  test.each(named(byCookie))('%s by cookie needs the token [CS5, S10]', async (_, route) => {
    await forEach(foreign(), async ([what, headers]) => {
      const { status, body } = await ask(route, {}, headers, ann.client);
      expect([what, status, body.code]).toEqual([what, 403, 'csrf_failed']);
    });
    expect(reached).toBe(0);
  });
  test.each(named(byCookie))('%s by the header `auth` needs no token [CS7, S29]', async (_, route) => {
    const { body } = await ask(route, { an_invented_field: 1 }, { auth: ann.client.cookies.get('auth') }, app.client());
    expect(body?.code).not.toBe('csrf_failed');
  });
  test.each(named(routes.filter(({ method, auth }) => method === 'get' && auth.includes('session'))).slice(0, 10))(
    '%s and its HEAD and OPTIONS need no token [CS6]',
    async (_, route) => {
      const { status } = await ask(route, undefined, { 'x-csrf-token': undefined }, ann.client);
      expect(status).not.toBe(403);
      const sent = {
        ...ann.client.headers,
        cookie: [...ann.client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      };
      for (const method of ['HEAD', 'OPTIONS'])
        expect([
          method,
          (await fetch(app.address + route.path.replaceAll(/:\w+/g, newId()), { method, headers: sent })).status,
        ]).not.toEqual([method, 403]);
    },
  );
});

describe('credentials', () => {
  test.each(named(guarded))('%s without a credential, or with a wrong one, is 401 [S14]', async (_, route) => {
    const wrong = { cookie: 'auth=x.y.z', authorization: undefined as string | undefined };
    await forEach(
      [{}, wrong, { authorization: `pm_live_${'A'.repeat(43)}` }, { authorization: 'Bearer pos_x' }, { auth: 'x.y.z' }],
      async (headers) => {
        const { status, body } = await ask(route, {}, headers, app.client());
        expect([status, body.statusCode]).toEqual([401, 401]);
        if (Object.keys(headers).length === 0)
          expect(body.errors).toEqual([
            expect.objectContaining({
              field: takes(route, 'api-key', 'oauth') ? 'Authorization' : 'auth',
              rule: 'required',
            }),
          ]);
      },
    );
    expect(reached).toBe(0);
  });
  const forClients = guarded.filter(({ path }) => path.startsWith('/public/v1/'));
  /** The only ones that a page of the console asks by its cookie. */
  const ofAnalytics = forClients.filter(({ path }) => path.startsWith('/public/v1/analytics/'));
  test.each(named(forClients.filter((route) => !ofAnalytics.includes(route))))(
    '%s is opened by an API key, and not by the cookie of a login [PA1]',
    async (_, route) => {
      expect([401, 403]).not.toContain((await ask(route, {}, {}, program)).status);
      expect((await ask(route, {}, {}, ann.client)).status).toBe(401);
    },
  );
  test.each(named(ofAnalytics))(
    '%s is opened by an API key, and by the cookie of a login [PA1, PA3]',
    async (_, route) => {
      for (const who of [program, ann.client]) expect([401, 403]).not.toContain((await ask(route, {}, {}, who)).status);
    },
  );
  test.each(named(guarded.filter((route) => !takes(route, 'api-key'))))(
    '%s is not opened by an API key [S14]',
    async (_, route) => {
      const { status, body } = await ask(route, {}, {}, program);
      expect([status, body.message ?? body.error_description]).toEqual([
        401,
        'Log in first: API keys and access tokens open /public/v1 only',
      ]);
      if (!route.errors) expect(body.errors[0]).toMatchObject({ field: 'Authorization', rule: 'session' });
    },
  );
  test.each(named(guarded.filter((route) => !takes(route, 'session', 'super-admin'))))(
    '%s is not opened by a session [S14]',
    async (_, route) => {
      expect((await ask(route, {}, {}, ann.client)).body.msg).toBe('No API Key found');
    },
  );
});

describe('permissions', () => {
  test.each(named(routes.filter(({ permission }) => permission !== undefined)))(
    '%s is refused to each role that lacks its permission, by 403 and before anything else is looked at [ER1, S15, S52]',
    async (_, route) => {
      for (const [role, { client, key }] of holders) {
        const held = permissionsOf(role, false);
        if (held.has(route.permission as Permission) || held.has(route.orPermission as Permission)) continue;
        for (const who of [...(takes(route, 'session') ? [client] : []), ...(takes(route, 'api-key') ? [key] : [])])
          expect([role, (await ask(route, { an_invented_field: 1 }, {}, who)).body.code]).toEqual([role, 'forbidden']);
      }
      expect(reached).toBe(0);
    },
  );
});

describe('bodies', () => {
  test.each(named(withJson.filter((route) => route.method !== 'get' && !isOpen(route))))(
    '%s refuses a field that it does not define, by name [GN6, S7]',
    async (_, route) => {
      const field = `invented_${randomUUID().slice(0, 8)}`;
      const body = { ...(route.body ? (example(inputSchema(route.body)) as object) : {}), [field]: 1 };
      const { status, body: answer } = await ask(route, body);
      expect([status, answer.code]).toEqual([400, 'unknown_field']);
      expect(answer.errors).toContainEqual({ field, message: `property ${field} should not exist`, rule: 'unknown' });
      expect(answer.message).toBe(`property ${field} should not exist`);
    },
  );
  // What would raise somebody above what they are; the routes that do declare such a field judge it.
  const RISING = {
    isSuperAdmin: true,
    role: 'owner',
    organizationId: newId(),
    revokedAt: null,
    limitOverrides: { channel: 9 },
    isLifetime: true,
  };
  const declares = ({ body }: AnyRoute, field: string): boolean =>
    body !== undefined && Object.hasOwn(inputSchema(body)['properties'] ?? {}, field);
  test.each(named(withJson.filter((route) => route.method !== 'get' && !isOpen(route))))(
    '%s accepts no right, owner or limit that it does not declare [X24, S7]',
    async (_, route) => {
      const valid = route.body ? (example(inputSchema(route.body)) as object) : {};
      const undeclared = Object.entries(RISING).filter(([name]) => !declares(route, name));
      await forEach(undeclared, async ([field, value]) => {
        const { status, body } = await ask(route, { ...valid, [field]: value });
        expect([field, status, body.code, body.errors[0].field]).toEqual([field, 400, 'unknown_field', field]);
      });
      expect(reached).toBe(0);
    },
  );
  test.each(named(withJson.filter(({ body }) => body !== undefined)))(
    '%s refuses each field of a wrong type, by name [S6]',
    async (_, route) => {
      const schema = inputSchema(route.body as never);
      const valid = example(schema) as object;
      const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Record<string, unknown>>);
      const wrong = properties.flatMap(([field, property]) =>
        wrongValues(property).map((value): [string, unknown] => [field, value]),
      );
      await forEach(wrong, async ([field, value]) => {
        const { status, body } = await ask(route, { ...valid, [field]: value });
        expect([field, value, status, namesField(route, body, field)]).toEqual([field, value, 400, true]);
      });
      await forEach((schema['required'] ?? []) as string[], async (name) => {
        const { [name as keyof typeof valid]: _gone, ...rest } = valid;
        const { status, body } = await ask(route, rest);
        expect([name, status, namesField(route, body, name)]).toEqual([name, 400, true]);
      });
    },
  );
  test.each(named(withJson.filter(({ method }) => method !== 'get')))(
    '%s refuses a body that is no JSON object [S8]',
    async (_, route) => {
      const texts = ['{', '[]', 'null', '"x"', '{"__proto__":{"a":1}}'];
      await forEach(texts, async (text) => expect([text, (await ask(route, text)).status]).toEqual([text, 400]));
      expect(reached).toBe(0);
      const form = await ask(route, 'x=1', { 'content-type': 'application/x-www-form-urlencoded' });
      expect(form.status === 415).toBe(route.input !== 'json-or-form');
    },
  );
});

describe('paths', () => {
  test('every route is found with and without /api in front, and with and without a slash at the end [T2, S1]', async () => {
    const nobody = app.client();
    await forEach(routes, async (route) => {
      const method = route.method.toUpperCase();
      const path = pathOf(route);
      const forms = [path, `${path}/`, `/api${path}`, `/api${path}/`];
      const found = await Promise.all(
        forms.map(async (form) => {
          const headers = { 'x-request-id': randomUUID() };
          const { status } = await nobody.send(method, form, method === 'GET' ? undefined : {}, headers);
          const answered = app.answered.findLast(({ requestId }) => requestId === headers['x-request-id']);
          return [form, status, answered?.route];
        }),
      );
      const [[, status]] = found as [[string, number]];
      expect(found).toEqual(forms.map((form) => [form, status, route.path]));
    });
  });
});

describe('limits', () => {
  test.each(named(routes))('%s carries rate headers, except for health [S16, HE7, RL2]', async (_, route) => {
    const { headers } = await ask(route, {});
    expect(headers.has('x-ratelimit-limit')).toBe(route.limit !== 'none');
    expect(route.limit === 'none').toBe(route.path.startsWith('/health'));
  });
});

describe('document', () => {
  test('OpenAPI 3.1 names every route, with its parameters and closed bodies; the public one is the part below /public/v1 [S267]', async () => {
    const { body: whole } = await app.client().get('/openapi.json');
    const { body: open } = await app.client().get('/public/v1/openapi.json');
    expect([whole.openapi, whole.servers]).toEqual(['3.1.0', [{ url: '/' }]]);
    for (const route of routes) {
      const operation = whole.paths[route.path.replace(/:(\w+)/g, '{$1}')][route.method];
      expect(
        operation.parameters
          .filter(({ in: place }: { in: string }) => place === 'path')
          .map(({ name }: { name: string }) => name),
      ).toEqual([...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
      expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true);
      if (route.body && route.input !== 'stream') {
        const { schema } = operation.requestBody.content['application/json'];
        const body = schema.$ref ? whole.components.schemas[schema.$ref.split('/').at(-1)] : schema;
        expect(body.type === 'object' || body.anyOf !== undefined || body.oneOf !== undefined).toBe(true);
      }
      expect(operation.security.length === 0).toBe(takes(route, 'none'));
    }
    const ids = Object.values(whole.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      (methods) => Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(whole.paths['/user/api-keys'].post.requestBody.content['application/json'].schema.additionalProperties).toBe(
      false,
    );
    expect(Object.keys(open.paths)).toEqual(Object.keys(whole.paths).filter((path) => path.startsWith('/public/v1/')));
    for (const document of [whole, open]) {
      const references = new Set(
        [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, reference]) => reference!),
      );
      const leadsTo = (reference: string) => reference.split('/').reduce((at, key) => at?.[key], document);
      expect([...references].filter((reference) => leadsTo(reference) === undefined)).toEqual([]);
    }
  });
});
