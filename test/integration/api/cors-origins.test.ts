import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { routes } from '../../../api/resources/routes.gen.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

// Written by hand from S20, not derived from the code.
const ALLOWED =
  'authorization, auth, content-type, x-csrf-token, idempotency-key, showorg, impersonate, if-match, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id';
const EXPOSED = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'retry-after',
  'idempotency-replayed',
  'www-authenticate',
  'mcp-session-id',
  'etag',
  'deprecation',
  'sunset',
  'x-request-id',
  'x-storage-warning', // of S153: only a page can show it
];
const OWN = ['https://app.example.com', 'https://main.example.com:8443', 'https://admin.example.com'];
const FOREIGN = [
  'https://evil.example',
  'null',
  'http://app.example.com',
  'https://app.example.com:444',
  'https://app.example.com.evil.example',
  'https://evil-app.example.com',
  'https://APP.example.com',
  'https://app.example.com/',
  'https://main.example.com',
  'https://app.example.com https://evil.example',
  '*',
  '',
];
const PUBLIC = [
  '/public/v1/is-connected',
  '/mcp',
  '/mcp/abc',
  '/media-mcp',
  '/sse/abc',
  '/oauth/token',
  '/oauth/register',
  '/oauth/revoke',
  '/.well-known/apps-challenge',
];
const CONSOLE = [
  '/user/self',
  '/oauth/authorize',
  '/oauth/tokens',
  '/publicity',
  '/public/v2/x',
  '/mcpx',
  '/nothing',
  '/webhooks',
];

const db = await testDatabase();
let app: TestApp;
let ann: SignedUp;
beforeAll(async () => {
  app = await testApp({
    sql: db.sql,
    routes,
    env: { FRONTEND_URL: `${OWN[0]}/console`, MAIN_URL: OWN[1]!, ADMIN_URL: `${OWN[2]}/` },
  });
  ann = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
const cors = (headers: Headers) => ({
  origin: headers.get('access-control-allow-origin'),
  credentials: headers.get('access-control-allow-credentials'),
  vary: headers.get('vary'),
});
const granted = (origin: string) => ({ origin, credentials: 'true', vary: 'Origin' });
const open = { origin: '*', credentials: null, vary: 'Origin' };
const nothing = { origin: null, credentials: null, vary: 'Origin' };

describe.each(['GET', 'OPTIONS'])('%s', (method) => {
  const ask = async (path: string, origin: string, more: Record<string, string> = {}) => {
    const asked =
      method === 'OPTIONS'
        ? { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-csrf-token' }
        : {};
    return (await app.client().send(method, path, undefined, { origin, ...asked, ...more })).headers;
  };

  test.each(CONSOLE)(
    '%s allows FRONTEND_URL, MAIN_URL and ADMIN_URL with credentials, and no other origin [S20]',
    async (path) => {
      for (const origin of OWN) expect(cors(await ask(path, origin))).toEqual(granted(origin));
      for (const origin of FOREIGN) expect([origin, cors(await ask(path, origin))]).toEqual([origin, nothing]);
    },
  );
  test.each(PUBLIC)(
    '%s allows every origin without credentials, and with a cookie only the console [S20]',
    async (path) => {
      for (const origin of FOREIGN) {
        expect([origin, cors(await ask(path, origin))]).toEqual([origin, open]);
        expect([origin, cors(await ask(path, origin, { cookie: `auth=${ann.client.cookies.get('auth')}` }))]).toEqual([
          origin,
          nothing,
        ]);
      }
      for (const origin of OWN) expect(cors(await ask(path, origin))).toEqual(granted(origin));
    },
  );
  test.each(['/api', '/api/'])('the same rules hold with the prefix %s [S1, S20]', async (prefix) => {
    expect(cors(await ask(`${prefix.replace(/\/$/, '')}/public/v1/is-connected`, 'https://evil.example'))).toEqual(
      open,
    );
    expect(cors(await ask(`${prefix.replace(/\/$/, '')}/user/self`, 'https://evil.example'))).toEqual(nothing);
  });
});

test('a request without an origin gets only Vary [S20]', async () => {
  expect(cors((await app.client().get('/public/v1/is-connected')).headers)).toEqual(nothing);
});

test('a preflight lists methods and headers, for a time, without credentials and without counting against a limit [S20]', async () => {
  for (const path of ['/user/self', '/public/v1/posts', '/nothing']) {
    const { status, headers } = await app
      .client()
      .send('OPTIONS', path, undefined, { origin: OWN[0]!, 'access-control-request-method': 'DELETE' });
    expect([status, headers.get('access-control-allow-headers'), headers.get('access-control-allow-methods')]).toEqual([
      200,
      ALLOWED,
      'GET, POST, PUT, PATCH, DELETE',
    ]);
    expect([
      Number(headers.get('access-control-max-age')) > 0,
      headers.get('x-ratelimit-limit'),
      headers.getSetCookie(),
    ]).toEqual([true, null, []]);
  }
});

test('a refused preflight does not say what would be allowed', async () => {
  const { headers } = await app.client().send('OPTIONS', '/user/self', undefined, {
    origin: 'https://evil.example',
    'access-control-request-method': 'DELETE',
  });
  expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
});

test('answers and refusals name the headers that a page may read [S20]', async () => {
  for (const path of ['/user/self', '/nothing'])
    expect((await ann.client.get(path, { origin: OWN[0]! })).headers.get('access-control-expose-headers')).toBe(
      EXPOSED.join(', '),
    );
  const key = await ann.withKey();
  expect(
    (await key.get('/public/v1/is-connected', { origin: 'https://any.example' })).headers.get(
      'access-control-expose-headers',
    ),
  ).toBe(EXPOSED.join(', '));
});

test('a page of a foreign origin cannot act by cookie, even where it may read [S20, CS5]', async () => {
  const { status, body } = await ann.client.post(
    '/user/api-keys',
    { name: 'k' },
    { origin: 'https://evil.example', 'x-csrf-token': undefined },
  );
  expect([status, body.code]).toEqual([403, 'csrf_failed']);
});
