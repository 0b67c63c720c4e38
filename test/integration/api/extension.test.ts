import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { JWT_SECRET, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

// The one way around the CSRF header: a token of the browser extension in `params` (S11). The handler only says it was
// reached.
let reached = 0;
const declared = routes.map((route): AnyRoute =>
  route.csrf === 'params'
    ? {
        ...route,
        handle: async () => {
          reached += 1;
          throw new AppError('unavailable', 'Reached');
        },
      }
    : route,
);
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let eve: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, routes: declared });
  ann = await app.signUp();
  eve = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
afterEach(() => {
  reached = 0;
});

const now = () => Math.floor(new Date().getTime() / 1000);
function sign(
  claims: Record<string, unknown>,
  { header = { alg: 'HS256', typ: 'JWT' } as Record<string, unknown>, secret = JWT_SECRET } = {},
): string {
  const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}
const good = () => ({
  sub: ann.userId,
  org: ann.orgId,
  provider: 'skool',
  aud: 'extension',
  iat: now(),
  exp: now() + 300,
});
const connect = (params: unknown, { path = '/integrations/social-connect/skool', headers = {} } = {}) =>
  ann.client.post(path, { params }, { 'x-csrf-token': undefined, ...headers });

test('a valid token that names user, org and provider of the session replaces the header [CS8, S11, S251]', async () => {
  expect((await connect(sign(good()))).body.message).toBe('Reached');
  expect((await connect(sign(good()), { path: '/api/integrations/social-connect/skool/' })).body.message).toBe(
    'Reached',
  );
  expect(reached).toBe(2);
});

const wrong: [string, () => unknown][] = [
  ['no params', () => undefined],
  ['empty', () => ''],
  ['no token', () => 'x'],
  ['an object', () => good()],
  ['a token among others', () => [sign(good())]],
  ['another secret', () => sign(good(), { secret: 'another-secret-that-is-long-enough-too' })],
  [
    'unsigned',
    () =>
      `${sign(good(), { header: { alg: 'none' } })
        .split('.')
        .slice(0, 2)
        .join('.')}.`,
  ],
  ['another algorithm', () => sign(good(), { header: { alg: 'HS512', typ: 'JWT' } })],
  ['another user', () => sign({ ...good(), sub: eve.userId })],
  ['another org', () => sign({ ...good(), org: eve.orgId })],
  ['another provider', () => sign({ ...good(), provider: 'mewe' })],
  ['no user', () => sign({ ...good(), sub: undefined })],
  ['no org', () => sign({ ...good(), org: undefined })],
  ['no provider', () => sign({ ...good(), provider: undefined })],
  ['expired', () => sign({ ...good(), iat: now() - 600, exp: now() - 1 })],
  ['no expiry', () => sign({ ...good(), exp: undefined })],
  ['a longer life than ten minutes', () => sign({ ...good(), exp: now() + 700 })],
  ['issued ahead', () => sign({ ...good(), iat: now() + 120 })],
  ...[
    'session',
    'activate',
    'reset',
    'invite',
    'oauth-state',
    'collab',
    'lifetime',
    'impersonate',
    ['extension'],
    undefined,
  ].map((aud): [string, () => unknown] => [`audience ${JSON.stringify(aud)}`, () => sign({ ...good(), aud })]),
  ['the session token', () => ann.client.cookies.get('auth')],
];
test.each(wrong)('%s is refused by 403 [S11, X7, X17]', async (_, make) => {
  const { status, body } = await connect(make());
  expect([status, body.code, reached]).toEqual([403, 'csrf_failed', 0]);
});

test('a broken body is no exemption, and no other route accepts the token [S11, X17]', async () => {
  expect((await ann.client.post('/integrations/social-connect/skool', '{', { 'x-csrf-token': undefined })).status).toBe(
    403,
  );
  for (const path of ['/user/api-keys', '/orgs', '/user/logout', '/user/change-org'])
    expect((await ann.client.post(path, { params: sign(good()) }, { 'x-csrf-token': undefined })).body.code).toBe(
      'csrf_failed',
    );
  expect((await ann.client.post('/user/api-keys', { name: 'x', params: sign(good()) })).body.code).toBe(
    'unknown_field',
  );
});

test('the token is no credential: it opens nothing without the session [X8]', async () => {
  const token = sign(good());
  for (const headers of [{}, { auth: token }, { cookie: `auth=${token}` }, { authorization: token }])
    expect((await app.client().post('/integrations/social-connect/skool', { params: token }, headers)).status).toBe(
      401,
    );
});
