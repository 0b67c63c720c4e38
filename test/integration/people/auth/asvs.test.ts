import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHmac, randomUUID } from 'node:crypto';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { JWT_SECRET, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { type TestDatabase, testDatabase } from '../../../support/wire/database.ts';

// What somebody logs in with, and what a token of one kind is worth where another one is asked for.

let db: TestDatabase;
let app: TestApp;
let root: SignedUp;
let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({
    sql: db.sql,
    env: { PAYMENTS_PUBLISHABLE_KEY: 'pk_test', PAYMENTS_SECRET_KEY: 'sk_test', PAYMENTS_SIGNING_KEY: 'whsec_test' },
  });
  root = await app.signUp(); // the first: a super-admin
  ann = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const register = (email: string, password: string) =>
  app.client().post('/auth/register', { provider: 'LOCAL', email, password, company: 'Acme Ltd' });
const login = async (email: string, password: string) =>
  (await app.client().post('/auth/login', { provider: 'LOCAL', email, password })).status;

describe('a password', () => {
  const kinds = [
    'aaaaaaaa',
    '12345678',
    '        ',
    'ein Satz mit Leerzeichen',
    'Größe-é-å',
    '🦩🦩🦩🦩🦩🦩🦩🦩',
    `<'"\\%00--;&>`,
    'x'.repeat(64),
    'y'.repeat(128),
  ];
  test.each(kinds)('a password has 8 to 128 characters of any kind: %j [S30]', async (password) => {
    const email = `${randomUUID()}@example.com`;
    expect((await register(email, password)).body).toEqual({ register: true });
    expect(await login(email, password)).toBe(200);
  });
  test.each(['', '1234567', 'z'.repeat(129)])(
    'a password of another length is refused by name: %j [S30]',
    async (password) => {
      const { status, body } = await register(`${randomUUID()}@example.com`, password);
      expect([status, body.errors.map(({ field }: { field: string }) => field)]).toEqual([400, ['password']]);
    },
  );
  test('a password is compared exactly as sent: case, spaces, accents and every last character count [S32]', async () => {
    const email = `${randomUUID()}@example.com`;
    const password = ` Flamingo-\u00e9-${'x'.repeat(80)}`;
    await register(email, password);
    const near = [
      password.trim(),
      password.toLowerCase(),
      `${password} `,
      password.slice(0, 72),
      password.slice(0, -1),
      `${password}x`,
      password.normalize('NFD'),
    ];
    for (const other of near) expect([other, await login(email, other)]).toEqual([other, 400]);
    expect(await login(email, password)).toBe(200);
  });
});

describe('tokens', () => {
  const now = () => Math.floor(new Date().getTime() / 1000);
  const sign = (claims: object) => {
    const input = [{ alg: 'HS256', typ: 'JWT' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${input}.${createHmac('sha256', JWT_SECRET).update(input).digest('base64url')}`;
  };
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;

  test('each kind of token is accepted for its own purpose only, although one key signs all [S28, X8]', async () => {
    const real = {
      session: root.client.cookies.get('auth')!,
      impersonate: (
        await root.client.post('/admin/impersonate', { userId: ann.userId, reason: 'To see', returnToken: true })
      ).body.token as string,
      lifetime: (await root.client.post('/admin/lifetime-codes', { count: 1 })).body.codes[0] as string,
      extension: sign({
        sub: root.userId,
        org: root.orgId,
        provider: 'skool',
        aud: 'extension',
        iat: now(),
        exp: now() + 300,
      }),
    };
    await root.client.delete('/admin/impersonate');
    const session = root.client.cookies.get('auth')!;
    // Every claim that any door looks at, so that the audience alone decides.
    const all = { ...claimsOf(real.impersonate), ...claimsOf(real.extension), ...claimsOf(session), jti: newId() };
    const forged = (aud: string) => sign({ ...all, aud });
    const doors: Record<keyof typeof real, (token: string) => Promise<boolean>> = {
      session: async (token) =>
        (await app.client().get('/user/self', { auth: token })).status === 200 ||
        (await app.client().get('/user/self', { cookie: `auth=${token}` })).status === 200,
      impersonate: async (token) =>
        (await app.client().get('/user/self', { auth: session, impersonate: token })).body.id === ann.userId,
      extension: async (token) =>
        (await root.client.post('/integrations/social-connect/skool', { params: token }, { 'x-csrf-token': undefined }))
          .body.code !== 'csrf_failed',
      lifetime: async (token) => (await ann.client.post('/billing/lifetime', { code: token })).status === 200,
    };
    const opened: string[] = [];
    for (const [door, opens] of Object.entries(doors)) {
      for (const kind of [
        'session',
        'impersonate',
        'extension',
        'lifetime',
        'activation',
        'reset',
        'refresh',
        'invite',
        'state',
      ])
        if (kind !== door && (await opens(forged(kind)))) opened.push(`forged ${kind} → ${door}`);
      for (const [kind, token] of Object.entries(real))
        if (kind !== door && (await opens(token))) opened.push(`${kind} → ${door}`);
    }
    expect(opened).toEqual([]);
    real.session = root.client.cookies.get('auth')!;
    const again = (
      await root.client.post('/admin/impersonate', { userId: ann.userId, reason: 'To see', returnToken: true })
    ).body.token as string;
    expect(await doors.impersonate(again)).toBe(true);
    await root.client.delete('/admin/impersonate');
    for (const door of ['session', 'extension', 'lifetime'] as const)
      expect([door, await doors[door](real[door])]).toEqual([door, true]);
  });
});
