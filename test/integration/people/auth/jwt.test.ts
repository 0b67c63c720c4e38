// oxlint-disable max-lines -- one product serves all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { JWT_SECRET, type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { mailsOf } from '../../../support/worlds/mail/mails.ts';
import { settles } from '../../../support/wire/settles.ts';

// Tokens are made here by hand, from the bytes up: not by what the product signs and checks with.

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let first: SignedUp;
let bob: SignedUp;
let token: string;
let good: Record<string, unknown>;
/** Where the headers of forged tokens point to. */
let trap: Server;
let trapped = 0;
let elsewhere: string;

beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  first = await app.signUp();
  bob = await app.signUp();
  token = bob.client.cookies.get('auth')!;
  good = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
  trap = createServer((socket) => {
    trapped += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => trap.listen(0, '127.0.0.1', resolve));
  elsewhere = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((resolve) => trap.close(resolve));
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const H = { alg: 'HS256', typ: 'JWT' };
const DAY = 24 * 3600;
const now = () => Math.floor(new Date().getTime() / 1000);
const base64 = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
/** A token with any header and any payload, as objects or as exact texts. */
const signedBy = (header: unknown, payload: unknown, make: (input: string) => string) => {
  const input = `${base64(header)}.${base64(payload)}`;
  return `${input}.${make(input)}`;
};
const hmac = (algorithm: string, secret: string | Buffer) => (input: string) =>
  createHmac(algorithm, secret).update(input).digest('base64url');
const signed = (header: unknown, payload: unknown, secret: string | Buffer = JWT_SECRET) =>
  signedBy(header, payload, hmac('sha256', secret));
const claims = (more: Record<string, unknown>) =>
  Object.fromEntries(Object.entries({ ...good, ...more }).filter(([, value]) => value !== undefined));
const flip = (text: string, at: number) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
const part = (n: number) => token.split('.')[n]!;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const asymmetric = (key: KeyObject, algorithm: string | null) => (input: string) =>
  sign(algorithm, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');

const asks = async (value: string) => [
  await app.client().get('/user/self', { auth: value }),
  await app.client().get('/user/self', { cookie: `auth=${value}` }),
];

test('a session token is HS256 with exactly these claims, and lives 30 days [S28, AU2, AU3]', () => {
  expect(JSON.parse(Buffer.from(part(0), 'base64url').toString())).toEqual(H);
  expect(good).toEqual({
    sub: bob.userId,
    sid: expect.any(String),
    aud: 'session',
    iat: expect.any(Number),
    exp: (good['iat'] as number) + 30 * DAY,
  });
  // the key is the bytes of the secret
  expect(part(2)).toBe(hmac('sha256', Buffer.from(JWT_SECRET, 'utf8'))(`${part(0)}.${part(1)}`));
});
test('a session token is accepted in every valid variant of header and claims [S247, S248]', async () => {
  for (const value of [
    signed(H, claims({})),
    signed({ alg: 'HS256' }, claims({})),
    signed({ typ: 'JWT', alg: 'HS256' }, claims({})),
    signed(H, claims({ nbf: now() - 5 })),
    signed(H, claims({ iat: now() + 30, nbf: now() + 30, exp: now() + 600 })),
    signed(H, claims({ exp: now() + 31 * DAY - 60 })),
    signed(H, claims({ name: 'ignored' })),
  ])
    for (const { status } of await asks(value)) expect(status).toBe(200);
});
test('a session token is renewed on each request by cookie, together with csrf_token [S26, AU4]', async () => {
  const client = app.client();
  client.cookies
    .set('auth', signed(H, claims({ iat: now() - 1000, exp: now() + 600 })))
    .set('csrf_token', 'a'.repeat(64));
  await client.get('/user/self');
  const renewed = JSON.parse(Buffer.from(client.cookies.get('auth')!.split('.')[1]!, 'base64url').toString());
  expect(renewed.exp).toBeGreaterThan(now() + 29 * DAY);
  expect(client.csrf).toBe('a'.repeat(64));
  client.cookies.delete('csrf_token');
  await client.get('/user/self');
  expect(client.csrf).toMatch(/^[0-9a-f]{64}$/);
});

test('a session token from the future is refused and logged once a minute as clock error; a forged one is not logged', async () => {
  let monotonic = 0;
  await using behind = await testApp({
    sql: db.sql,
    clock: { ...systemClock, now: () => systemClock.in(-3_600_000), monotonic: () => monotonic },
  });
  const ask = async (value: string) =>
    expect((await behind.client().get('/user/self', { auth: value })).status).toBe(401);
  const warned = () => behind.log.lines.filter(({ message }) => message.includes('signed in the future'));
  await ask(signed(H, good, 'another-secret-that-is-long-enough-too'));
  expect(warned()).toEqual([]);
  for (let n = 0; n < 3; n += 1) await ask(token);
  expect(warned()).toEqual([
    { level: 'warn', detail: { audience: 'session', aheadSeconds: expect.any(Number) }, message: expect.any(String) },
  ]);
  monotonic = 60_000;
  for (let n = 0; n < 3; n += 1) await ask(token);
  expect(warned()).toHaveLength(2);
});

type Case = [string, () => string | Promise<string>];
const bad: Case[] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): Case => [
    `algorithm ${JSON.stringify(alg)} unsigned`,
    () => `${base64({ alg, typ: 'JWT' })}.${part(1)}.`,
  ]),
  ...['none', 'NONE', 'hs256', 'Hs256', 'HS256 ', 'HS384', 'HS512', 'RS256', 'PS256', 'ES256', 'EdDSA'].map(
    (alg): Case => [
      `algorithm ${JSON.stringify(alg)} with the signature of HS256`,
      () => signed({ alg, typ: 'JWT' }, good),
    ],
  ),
  ['HS384 truly', () => signedBy({ ...H, alg: 'HS384' }, good, hmac('sha384', JWT_SECRET))],
  ['HS512 truly', () => signedBy({ ...H, alg: 'HS512' }, good, hmac('sha512', JWT_SECRET))],
  ['HS256 that is SHA-1', () => signedBy(H, good, hmac('sha1', JWT_SECRET))],
  ['RS256 truly', () => signedBy({ ...H, alg: 'RS256' }, good, asymmetric(rsa.privateKey, 'sha256'))],
  ['ES256 truly', () => signedBy({ ...H, alg: 'ES256' }, good, asymmetric(ec.privateKey, 'sha256'))],
  ['EdDSA truly', () => signedBy({ ...H, alg: 'EdDSA' }, good, asymmetric(ed.privateKey, null))],
  [
    'a public key (PEM) as secret',
    () => signed(H, good, rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string),
  ],
  ['a public key (DER) as secret', () => signed(H, good, rsa.publicKey.export({ type: 'spki', format: 'der' }))],
  ['another deployment', () => signed(H, good, 'another-secret-that-is-long-enough-too')],
  ['the secret in base64', () => signed(H, good, Buffer.from(JWT_SECRET, 'base64'))],
  ['the secret with a line break', () => signed(H, good, `${JWT_SECRET}\n`)],
  ['the secret as prefix', () => signed(H, good, JWT_SECRET.slice(0, 32))],
  ['an empty secret', () => signed(H, good, '')],
  ['a known placeholder as secret', () => signed(H, good, 'secret')],
  ['no alg', () => signed({ typ: 'JWT' }, good)],
  ['alg as array', () => signed({ alg: ['HS256'], typ: 'JWT' }, good)],
  ['alg null', () => signed({ alg: null, typ: 'JWT' }, good)],
  ['another typ', () => signed({ ...H, typ: 'at+jwt' }, good)],
  ['typ as number', () => signed({ ...H, typ: 1 }, good)],
  ['header is an array', () => signed('[]', good)],
  ['header is no JSON', () => signed('{', good)],
  ['header with a byte order mark', () => signed(`\ufeff${JSON.stringify(H)}`, good)],
  ['no exp', () => signed(H, claims({ exp: undefined }))],
  ['exp as text', () => signed(H, claims({ exp: String(now() + 600) }))],
  ['exp null', () => signed(H, claims({ exp: null }))],
  ['exp true', () => signed(H, claims({ exp: true }))],
  ['exp as list', () => signed(H, claims({ exp: [now() + 600] }))],
  ['exp past', () => signed(H, claims({ exp: now() - 1 }))],
  ['exp now', () => signed(H, claims({ exp: now() }))],
  ['exp negative', () => signed(H, claims({ exp: -1 }))],
  ['exp zero', () => signed(H, claims({ exp: 0 }))],
  ['exp broken', () => signed(H, claims({ exp: now() + 600.5 }))],
  ['exp infinite', () => signed(H, JSON.stringify(good).replace(/"exp":\d+/, '"exp":1e999'))],
  ['exp far ahead', () => signed(H, claims({ exp: now() + 31 * DAY + 60 }))],
  ['exp in milliseconds', () => signed(H, claims({ exp: (now() + 600) * 1000 }))],
  ['no iat', () => signed(H, claims({ iat: undefined }))],
  ['iat as text', () => signed(H, claims({ iat: String(now()) }))],
  ['iat negative', () => signed(H, claims({ iat: -1 }))],
  ['iat ahead', () => signed(H, claims({ iat: now() + 120 }))],
  ['nbf ahead', () => signed(H, claims({ nbf: now() + 120 }))],
  ['nbf as text', () => signed(H, claims({ nbf: 'now' }))],
  ['nbf null', () => signed(H, claims({ nbf: null }))],
  ['kid', () => signed({ ...H, kid: '1' }, good)],
  ['kid as path', () => signed({ ...H, kid: '../../../../dev/null' }, good, '')],
  ['kid as SQL', () => signed({ ...H, kid: "x' union select 'a" }, good, 'a')],
  ['jku', () => signed({ ...H, jku: `${elsewhere}/keys` }, good)],
  [
    'jku of a key of ours',
    () => signedBy({ alg: 'RS256', jku: `${elsewhere}/keys` }, good, asymmetric(rsa.privateKey, 'sha256')),
  ],
  ['x5u', () => signed({ ...H, x5u: `${elsewhere}/cert` }, good)],
  ['jwk', () => signed({ ...H, jwk: { kty: 'oct', k: base64(JWT_SECRET) } }, good)],
  [
    'jwk that signed it',
    () =>
      signedBy(
        { alg: 'RS256', jwk: rsa.publicKey.export({ format: 'jwk' }) },
        good,
        asymmetric(rsa.privateKey, 'sha256'),
      ),
  ],
  ['x5c', () => signed({ ...H, x5c: ['x'] }, good)],
  ['crit', () => signed({ ...H, crit: ['exp'] }, good)],
  ['crit empty', () => signed({ ...H, crit: [] }, good)],
  ['b64=false', () => signed({ ...H, b64: false, crit: ['b64'] }, good)],
  [
    'b64=false over the bare payload',
    () =>
      signedBy({ ...H, b64: false, crit: ['b64'] }, good, () =>
        hmac('sha256', JWT_SECRET)(`${base64({ ...H, b64: false, crit: ['b64'] })}.${JSON.stringify(good)}`),
      ),
  ],
  ['cty', () => signed({ ...H, cty: 'JWT' }, good)],
  ['zip', () => signed({ ...H, zip: 'DEF' }, good)],
  ['__proto__ in the header', () => signed('{"alg":"HS256","typ":"JWT","__proto__":{"a":1}}', good)],
  ['a claim twice', () => signed(H, `${JSON.stringify(good).slice(0, -1)},"sub":"${first.userId}"}`)],
  [
    'a claim twice, once in escapes',
    () => signed(H, `${JSON.stringify(good).slice(0, -1)},"\\u0073ub":"${first.userId}"}`),
  ],
  ['aud twice', () => signed(H, `{"aud":"activate",${JSON.stringify(good).slice(1)}`)],
  ['exp twice', () => signed(H, `{"exp":1,${JSON.stringify(good).slice(1)}`)],
  ['alg twice', () => signed('{"alg":"none","alg":"HS256","typ":"JWT"}', good)],
  ['white space in the payload', () => signed(H, JSON.stringify(good, null, 1))],
  ['no signature', () => `${part(0)}.${part(1)}.`],
  ['no third part', () => `${part(0)}.${part(1)}`],
  ['a fourth part', () => `${token}.${part(2)}`],
  ['five parts', () => `${token}.a.b`],
  ['a dot before it', () => `.${token}`],
  ['the parts in another order', () => `${part(1)}.${part(0)}.${part(2)}`],
  ['a signature of nought', () => `${part(0)}.${part(1)}.${Buffer.alloc(32).toString('base64url')}`],
  ['a truncated signature', () => token.slice(0, -4)],
  ['a longer signature', () => `${token}AAAA`],
  ['a changed signature', () => flip(token, token.length - 10)],
  ['a changed payload', () => flip(token, token.indexOf('.') + 30)],
  ['a changed header', () => flip(token, 5)],
  [
    'a payload of another token under this signature',
    () => `${part(0)}.${first.client.cookies.get('auth')!.split('.')[1]}.${part(2)}`,
  ],
  [
    'stray bits in the last character',
    () => `${token.slice(0, -1)}${String.fromCharCode(token.charCodeAt(token.length - 1) + 1)}`,
  ],
  ['padding', () => `${token}=`],
  ['standard base64', () => token.replace(/\.([^.]+)$/, '.+/$1')],
  ['the signature in hexadecimal', () => `${part(0)}.${part(1)}.${Buffer.from(part(2), 'base64url').toString('hex')}`],
  ['white space inside', () => token.replace('.', '. ')],
  ['trailing data', () => `${token}%00`],
  ['its JSON form', () => base64({ protected: part(0), payload: part(1), signature: part(2) })],
  ['payload is an array', () => signed(H, '[]')],
  ['payload is null', () => signed(H, 'null')],
  ['payload is text', () => signed(H, '"x"')],
  ['payload is no JSON', () => signed(H, '{')],
  ['an empty payload', () => signed(H, '')],
  ...['extension', 'activate', 'reset', 'invite', 'oauth-state', 'collab', 'lifetime', 'impersonate', 'api', ''].map(
    (aud): Case => [`audience ${JSON.stringify(aud)}`, () => signed(H, claims({ aud }))],
  ),
  ['audience as a list', () => signed(H, claims({ aud: ['session'] }))],
  ['audience among others', () => signed(H, claims({ aud: ['extension', 'session'] }))],
  ['audience in another case', () => signed(H, claims({ aud: 'Session' }))],
  ['no audience', () => signed(H, claims({ aud: undefined }))],
  ['no sub', () => signed(H, claims({ sub: undefined }))],
  ['sub of another user', () => signed(H, claims({ sub: first.userId }))],
  ['sub as SQL', () => signed(H, claims({ sub: "' or 1=1" }))],
  ['sub as object', () => signed(H, claims({ sub: { $ne: null } }))],
  ['sub in capitals', () => signed(H, claims({ sub: bob.userId.toUpperCase() }))],
  ['no sid', () => signed(H, claims({ sid: undefined }))],
  ['an unknown sid', () => signed(H, claims({ sid: newId() }))],
  ['sid as number', () => signed(H, claims({ sid: 1 }))],
  ['a role of its own making, for another user', () => signed(H, claims({ sub: newId(), isSuperAdmin: true }))],
  ['dots', () => '..'],
  ['an API key', async () => (await bob.withKey()).key],
  ['a refresh token', () => bob.client.cookies.get('refresh')!],
  ['very long', () => `${token}${'A'.repeat(8_000)}`],
];
test.each(bad)(
  'a session token: %s is refused alike in cookie and header, without a reason [AU2, AU5, S28, S247, S248, S249, X8, X9]',
  async (_, make) => {
    const value = await make();
    for (const { status, body, headers } of await asks(value)) {
      expect([status, body]).toEqual([
        401,
        {
          statusCode: 401,
          error: 'Unauthorized',
          message: 'Log in first',
          msg: 'Log in first',
          code: 'unauthenticated',
        },
      ]);
      expect(headers.getSetCookie()).toEqual([]);
    }
  },
);
test('a session token: empty is refused in cookie and header; a missing one names the place where it belongs [X8, X9]', async () => {
  const [inHeader, inCookie] = await asks('');
  const refusal = {
    statusCode: 401,
    error: 'Unauthorized',
    message: 'Log in first',
    msg: 'Log in first',
    code: 'unauthenticated',
  };
  expect([inHeader!.body, inCookie!.body]).toEqual([
    refusal,
    { ...refusal, errors: [expect.objectContaining({ field: 'auth', rule: 'required' })] },
  ]);
});
test('the suite covers enough classes of tokens, and none makes the service connect to anywhere', () => {
  expect(bad.length).toBeGreaterThanOrEqual(60);
  expect(new Set(bad.map(([name]) => name)).size).toBe(bad.length);
  expect(trapped).toBe(0);
});

describe('token kinds', () => {
  const kinds = [
    'session',
    'activate',
    'reset',
    'extension',
    'invite',
    'oauth-state',
    'collab',
    'lifetime',
    'impersonate',
  ];
  const forged = (aud: string) =>
    signed(H, claims({ aud, org: bob.orgId, provider: 'sandbox', exp: now() + 300, iat: now() }));

  test.each(kinds)('a signed token of kind %s is refused by mail links and refresh [S28, X8]', async (aud) => {
    const value = forged(aud);
    const post = async (path: string, body: object) => (await app.client().post(path, body)).body;
    expect(await post('/auth/activate', { code: value })).toEqual({ can: false });
    expect((await bob.client.post('/auth/confirm-email', { code: value })).body).toEqual({ can: false });
    expect(
      await post('/auth/forgot-return', { token: value, password: 'long enough', repeatPassword: 'long enough' }),
    ).toEqual({ reset: false });
    expect((await post('/auth/refresh', { refreshToken: value })).statusCode).toBe(401);
  });
  test.each(kinds.filter((kind) => kind !== 'extension'))(
    'a signed token of kind %s is refused as `params` of the extension [S11, S251, X8, X17]',
    async (aud) => {
      const { status, body } = await bob.client.post(
        '/integrations/social-connect/sandbox',
        { params: forged(aud) },
        { 'x-csrf-token': undefined },
      );
      expect([status, body.code]).toEqual([403, 'csrf_failed']);
    },
  );
  test('mail codes are accepted for one kind each and not as sessions [S28, X8]', async () => {
    const mailing = await testApp({ sql: db.sql, env: WITH_MAIL });
    try {
      const email = `${randomUUID()}@example.com`;
      const post = async (path: string, body: object) => (await mailing.client().post(path, body)).body;
      await post('/auth/register', { provider: 'LOCAL', email, password: 'long enough', company: 'Acme' });
      await mailing.context.auth.sendRequested(20);
      await post('/auth/forgot', { email });
      await mailing.context.auth.sendRequested(20);
      let mails: Awaited<ReturnType<typeof mailsOf>> = [];
      await settles(async () =>
        expect((mails = await mailsOf(mailing.context, email)).map(({ content }) => content.template)).toHaveLength(2),
      ); // the process writes them, too, behind its answers
      const codeOf = (template: string) => {
        const { content } = mails.find((mail) => mail.content.template === template)!;
        return ('url' in content.data ? content.data.url : '').split('/').at(-1)!;
      };
      const [activation, reset] = [codeOf('activation'), codeOf('password-reset')];
      for (const code of [activation, reset]) {
        for (const { status } of await asks(code)) expect(status).toBe(401);
        expect((await bob.client.post('/auth/confirm-email', { code })).body).toEqual({ can: false });
        expect((await post('/auth/refresh', { refreshToken: code })).statusCode).toBe(401);
      }
      expect(await post('/auth/activate', { code: reset })).toEqual({ can: false });
      expect(
        await post('/auth/forgot-return', {
          token: activation,
          password: 'long enough',
          repeatPassword: 'long enough',
        }),
      ).toEqual({ reset: false });
      const live = await db.sql`
          select kind from one_time_codes c join users u on u.id = c.user_id where u.email = ${email} order by kind`;
      expect(live).toEqual([{ kind: 'activate' }, { kind: 'reset' }]); // both were good all the time
      expect(
        await post('/auth/forgot-return', { token: reset, password: 'long enough', repeatPassword: 'long enough' }),
      ).toEqual({ reset: true });
    } finally {
      await mailing[Symbol.asyncDispose]();
    }
  });
});

describe('a well-signed token', () => {
  test('is refused at once and never renewed when its session is revoked; only this case has its own answer [S28, S249]', async () => {
    const eve = await app.signUp();
    const stolen = eve.client.cookies.get('auth')!;
    await db.sql`update sessions set revoked_at = now() where user_id = ${eve.userId}`;
    for (const { status, body, headers } of await asks(stolen))
      expect([status, body.code, headers.getSetCookie()]).toEqual([401, 'session_revoked', []]);
  });
  test('is refused when its session has expired, whatever its own expiry [S28]', async () => {
    const eve = await app.signUp();
    // A note of its use may be under way: it must not find the session alive at the moment when it began.
    await db.sql`update sessions set expires_at = now() - interval '1 minute' where user_id = ${eve.userId}`;
    for (const { status, body } of await asks(eve.client.cookies.get('auth')!))
      expect([status, body.code]).toEqual([401, 'session_revoked']);
  });
  test('does not extend a session revoked during use', async () => {
    const eve = await app.signUp();
    const other = await testApp({ sql: db.sql }); // without the memory of a recent note
    expect((await other.client().get('/user/self', { auth: eve.client.cookies.get('auth')! })).status).toBe(200);
    await db.sql`
      update sessions set revoked_at = now(), expires_at = now() + interval '1 hour' where user_id = ${eve.userId}`;
    await other[Symbol.asyncDispose](); // writes the note of the use
    const [row] = await db.sql`
        select revoked_at is not null as revoked, expires_at < now() + interval '2 hours' as short
        from sessions
        where user_id = ${eve.userId}`;
    expect(row).toEqual({ revoked: true, short: true });
  });
  test('is refused when its user is disabled in every org, removed, inactive or deleted [S53]', async () => {
    const eve = await app.signUp();
    const status = async () => (await eve.client.get('/user/self')).status;
    const { sql } = db;
    for (const [off, on] of [
      [
        sql`update memberships set disabled = true where user_id = ${eve.userId}`,
        sql`update memberships set disabled = false where user_id = ${eve.userId}`,
      ],
      [
        sql`update users set activated = false where id = ${eve.userId}`,
        sql`update users set activated = true where id = ${eve.userId}`,
      ],
      [
        sql`update organizations set deleted_at = now() where id = ${eve.orgId}`,
        sql`update organizations set deleted_at = null where id = ${eve.orgId}`,
      ],
    ] as const) {
      await off;
      expect(await status()).toBe(401);
      await on;
      expect(await status()).toBe(200);
    }
    await sql`delete from memberships where user_id = ${eve.userId}`;
    expect(await status()).toBe(401);
    await sql`update users set deleted_at = now() where id = ${eve.userId}`;
    expect(await status()).toBe(401);
  });
  test('is not accepted from a cookie beside an invalid header; API keys open no console route [S14]', async () => {
    const program = await bob.withKey();
    expect((await bob.client.get('/user/self', { auth: 'nonsense' })).status).toBe(401);
    expect((await bob.client.get('/user/self', { authorization: program.key })).status).toBe(401);
    expect((await bob.client.get('/user/self', { authorization: 'Basic x' })).status).toBe(401);
    expect((await program.get('/user/self')).status).toBe(401);
  });
  test('opens super-admin routes for a super-admin, by cookie and by header [AU6, S29]', async () => {
    expect((await first.client.get('/user/self')).body).toMatchObject({ isSuperAdmin: true, admin: true });
    expect((await app.client().get('/user/self', { auth: first.client.cookies.get('auth')! })).body.isSuperAdmin).toBe(
      true,
    );
  });
});
