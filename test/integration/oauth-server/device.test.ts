import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openDevices } from '../../../src/oauth-server/devices.ts';
import { sha256 } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { mailsOf } from '../../support/worlds/mail/mails.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let eve: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({
    sql: db.sql,
    env: { FRONTEND_URL: 'https://app.example.com/', NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com' },
  });
  ann = await app.signUp();
  eve = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const start = async (path = '/device/code') =>
  (await app.client().post(path, {})).body as { device_code: string; user_code: string };
const poll = (code: unknown, path = '/device/token') => app.client().post(path, { device_code: code });
/** As if the device had asked so many seconds ago, however long the test took meanwhile. */
const asked = (code: string, seconds: number) =>
  db.sql`
    update oauth_devices
    set asked_at = clock_timestamp() - ${seconds}::int * interval '1 s'
    where device_hash = ${sha256(code)}`;
const approve = (code: string, who = ann) => who.client.post('/device/approve', { user_code: code });

describe.each(['/device', '/oauth/device'])('%s', (prefix) => {
  test('an approved code yields, once, an API key named CLI of that person in that org [S95, S256]', async () => {
    const answer = await app.client().post(`${prefix}/code`, {});
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        device_code: expect.stringMatching(/^[0-9A-Za-z]{43}$/),
        user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
        verification_uri: 'https://app.example.com/device',
        expires_in: 900,
        interval: 5,
      },
    ]);
    const { device_code: deviceCode, user_code: userCode } = answer.body;
    expect(await poll(deviceCode, `${prefix}/token`)).toMatchObject({
      status: 400,
      body: { error: 'authorization_pending' },
    });
    await asked(deviceCode, 5);
    expect(await ann.client.post(`${prefix}/approve`, { user_code: userCode })).toMatchObject({
      status: 200,
      body: { success: true },
    });
    const got = await poll(deviceCode, `${prefix}/token`);
    expect([got.status, got.body]).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^pm_live_/),
        api_url: 'https://api.example.com',
        organization_id: ann.orgId,
      },
    ]);
    expect(got.headers.get('cache-control')).toBe('no-store');
    expect((await app.client().get('/public/v1/is-connected', { authorization: got.body.access_token })).status).toBe(
      200,
    );
    expect((await ann.client.get('/user/api-keys')).body[0]).toMatchObject({
      name: 'CLI',
      prefix: got.body.access_token.slice(0, 12),
    });
    // the answer was lost, or another device has the code: its key ends
    expect((await poll(deviceCode, `${prefix}/token`)).body.error).toBe('invalid_device_code');
    expect((await app.client().get('/public/v1/is-connected', { authorization: got.body.access_token })).status).toBe(
      401,
    );
    const acts = await db.sql<{ action: string; user: string }[]>`
      select action, user_id as user
      from audit_log
      where org_id = ${ann.orgId} and resource = 'api_keys'
      order by id desc limit 3`;
    expect(acts.map(({ action, user }) => [action, user])).toEqual([
      ['api_key.revoked', ann.userId],
      ['api_key.created', ann.userId],
      ['device.approved', ann.userId],
    ]);
  });

  test('a denied code answers access_denied [S95, S256]', async () => {
    const { device_code: deviceCode, user_code: userCode } = await start(`${prefix}/code`);
    expect(await ann.client.post(`${prefix}/deny`, { user_code: userCode })).toMatchObject({
      status: 200,
      body: { success: true },
    });
    expect(await poll(deviceCode, `${prefix}/token`)).toMatchObject({ status: 400, body: { error: 'access_denied' } });
  });
});

test('neither code is stored in plain text [OA9]', async () => {
  const { device_code: deviceCode, user_code: userCode } = await start();
  const [row] = await db.sql`select * from oauth_devices where device_hash = ${sha256(deviceCode)}`;
  for (const secret of [deviceCode, userCode, userCode.replace('-', '')])
    expect(JSON.stringify(row)).not.toContain(secret);
});

test('a form works like JSON [S8]', async () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const { body } = await app.client().post('/device/code', 'client_id=cli', form);
  expect(
    (await app.client().post('/device/token', `device_code=${body.device_code}&grant_type=x`, form)).body.error,
  ).toBe('authorization_pending');
});

test('the code is accepted in lower case, with or without the hyphen [S256]', async () => {
  for (const typed of [
    (code: string) => code.toLowerCase(),
    (code: string) => code.replace('-', ''),
    (code: string) => ` ${code.replace('-', ' ')} `,
  ]) {
    const { user_code: code } = await start();
    expect((await approve(typed(code))).status).toBe(200);
  }
});

test('polling before five seconds answers slow_down and adds five seconds to the interval [S95]', async () => {
  const { device_code: code, user_code: userCode } = await start();
  const errors: string[] = [];
  const ask = async () => errors.push((await poll(code)).body.error);
  await ask();
  await asked(code, 0);
  await ask(); // at once: from now on 10 s
  await asked(code, 5);
  await ask(); // 5 s: from now on 15 s
  await asked(code, 15);
  await ask();
  expect(errors).toEqual(['authorization_pending', 'slow_down', 'slow_down', 'authorization_pending']);
  await approve(userCode);
  await asked(code, 0);
  expect((await poll(code)).body.error).toBe('slow_down'); // approved or not
  await asked(code, 20);
  expect((await poll(code)).status).toBe(200);
});

test('guessed, expired, empty and missing codes are refused [S95]', async () => {
  const { device_code: code, user_code: userCode } = await start();
  for (const guess of ['x', 'x'.repeat(43), userCode, `${code}x`])
    expect(await poll(guess)).toMatchObject({ status: 400, body: { error: 'invalid_device_code' } });
  for (const none of ['', undefined, null, 7, [code]])
    expect(await poll(none)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  await db.sql`update oauth_devices set expires_at = now() where device_hash = ${sha256(code)}`;
  expect((await poll(code)).body.error).toBe('expired_token');
  expect((await approve(userCode)).body.errors[0]).toMatchObject({ field: 'user_code', rule: 'unknown_id' });
});

test('a decided code accepts no second approval, no change of mind and no other user [S256]', async () => {
  const { device_code: code, user_code: userCode } = await start();
  expect((await approve(userCode)).status).toBe(200);
  for (const [who, act] of [
    [ann, 'approve'],
    [ann, 'deny'],
    [eve, 'approve'],
    [eve, 'deny'],
  ] as const)
    expect((await who.client.post(`/device/${act}`, { user_code: userCode })).status).toBe(400);
  expect((await poll(code)).body.organization_id).toBe(ann.orgId);
});

test('a hundred concurrent approvals and polls yield one decision and one key [S256, X25]', async () => {
  const { device_code: code, user_code: userCode } = await start();
  const decided = await Promise.all(
    Array.from({ length: 100 }, (_, n) =>
      (n % 2 ? eve : ann).client.post(`/device/${n % 3 ? 'approve' : 'deny'}`, { user_code: userCode }),
    ),
  );
  expect(decided.filter(({ status }) => status === 200)).toHaveLength(1);
  const other = await start();
  await approve(other.user_code);
  await db.sql`update oauth_devices set interval_seconds = 0 where device_hash = ${sha256(other.device_code)}`;
  const keys = async () =>
    (await db.sql`select count(*)::int as n from api_keys where user_id = ${ann.userId}`)[0]!['n'] as number;
  const before = await keys();
  const polls = await Promise.all(Array.from({ length: 100 }, () => poll(other.device_code)));
  expect([polls.filter(({ status }) => status === 200).length, (await keys()) - before]).toEqual([1, 1]);
  expect((await poll(code)).status).not.toBe(500);
});

test('the page shows where and when the code was requested until it is decided [S256]', async () => {
  const before = Date.now();
  const { body } = await app.client().post('/device/code', {}, { 'user-agent': 'phisher/1.0' });
  const found = await ann.client.post('/device/find', { user_code: body.user_code });
  expect([found.status, found.body]).toEqual([
    200,
    { ip: '127.0.0.1', userAgent: 'phisher/1.0', askedAt: expect.any(String) },
  ]);
  expect(Math.abs(Date.parse(found.body.askedAt) - before)).toBeLessThan(600_000);
  expect((await app.client().post('/device/find', { user_code: body.user_code })).status).toBe(401);
  await approve(body.user_code);
  for (const code of [body.user_code, 'BBBB-BBBB'])
    expect((await ann.client.post('/device/find', { user_code: code })).body.errors[0]).toMatchObject({
      field: 'user_code',
      rule: 'unknown_id',
    });
});

test('the key expires after 90 days, and a mail tells its owner the device', async () => {
  await using mailing = await testApp({ sql: db.sql, env: WITH_MAIL });
  const { body } = await mailing.client().post('/device/code', {}, { 'user-agent': 'a device' });
  await approve(body.user_code);
  const { body: got } = await mailing.client().post('/device/token', { device_code: body.device_code });
  const prefix = got.access_token.slice(0, 12);
  const [key] = await db.sql`
      select expires_at between now() + interval '89 days' and now() + interval '90 days' as ends
      from api_keys
      where prefix = ${prefix}`;
  expect(key).toEqual({ ends: true });
  const [mail] = await mailsOf(mailing.context, ann.email);
  expect(mail!.content).toEqual({
    template: 'key-made',
    data: {
      name: '',
      keyName: 'CLI',
      prefix,
      orgName: 'Acme Ltd',
      expiresAt: expect.any(String),
      device: '127.0.0.1, a device',
    },
  });
});

test('whoever has no room for its key is told so at the approval, and the device where there is none any more [S95]', async () => {
  const cid = await app.signUp();
  const fill = () => db.sql`
    insert into api_keys (id, org_id, user_id, name, prefix, key_hash)
    select gen_random_uuid(), ${cid.orgId}, ${cid.userId}, 'x', 'pm_live_xxxx', sha256(gen_random_uuid()::text::bytea)
    from generate_series(1, 50) n`;
  await fill();
  const { device_code: code, user_code: userCode } = await start();
  expect(await approve(userCode, cid)).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', message: expect.stringContaining('50') },
  });
  expect((await poll(code)).body).toMatchObject({ error: 'authorization_pending' });
  await db.sql`update api_keys set revoked_at = now() where user_id = ${cid.userId}`;
  expect((await approve(userCode, cid)).status).toBe(200);
  await fill();
  await asked(code, 5);
  expect(await poll(code)).toMatchObject({
    status: 400,
    body: { error: 'access_denied', error_description: expect.stringContaining('50') },
  });
  await db.sql`update api_keys set revoked_at = now() where user_id = ${cid.userId}`;
  await asked(code, 5);
  expect((await poll(code)).status).toBe(200);
});

test('a key whose commit nobody was told of ends when the device asks anew, without a second one [S95]', async () => {
  const { sql, clock, auth } = app.context;
  const { apiKeys } = auth;
  const lost = openDevices({
    sql,
    clock,
    auth: {
      apiKeys: {
        ...apiKeys,
        async create(...key) {
          await apiKeys.create(...key);
          throw new Error('The connection was lost with the answer of the commit');
        },
      },
    },
  });
  const cid = await app.signUp();
  const keys = async () =>
    ((await cid.client.get('/user/api-keys')).body as { revokedAt: string | null }[]).map(({ revokedAt }) => revokedAt);
  const { device_code: code, user_code: userCode } = await start();
  await approve(userCode, cid);
  await expect(lost.redeem(code, '127.0.0.1')).rejects.toThrow('was lost');
  expect(await keys()).toEqual([null]);
  for (let n = 0; n < 2; n += 1) {
    await asked(code, 5);
    expect([(await poll(code)).body.error, await keys()]).toEqual(['invalid_device_code', [expect.any(String)]]);
  }
});

test('a user who leaves the org before the device polls gets no key', async () => {
  const cid = await app.signUp();
  const { device_code: code, user_code: userCode } = await start();
  await approve(userCode, cid);
  await db.sql`delete from memberships where user_id = ${cid.userId}`;
  expect((await poll(code)).body.error).toBe('invalid_device_code');
});

test.each(['disabled_at', 'deleted_at'])('of an organization with %s the device gets no key [S95]', async (column) => {
  const cid = await app.signUp();
  const { device_code: code, user_code: userCode } = await start();
  await approve(userCode, cid);
  await db.sql`update organizations set ${db.sql(column)} = now() where id = ${cid.orgId}`;
  expect(await poll(code)).toMatchObject({ status: 400, body: { error: 'access_denied' } });
  expect(await db.sql`select from api_keys where org_id = ${cid.orgId}`).toHaveLength(0);
});

test('approving needs a session and the CSRF token; five codes a minute, then 429 for that user [S256]', async () => {
  const { user_code: userCode } = await start();
  expect((await app.client().post('/device/approve', { user_code: userCode })).status).toBe(401);
  expect(
    (await ann.client.post('/device/approve', { user_code: userCode }, { 'x-csrf-token': undefined })).body.code,
  ).toBe('csrf_failed');
  await using slow = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' } });
  const [cid, dan] = [await slow.signUp(), await slow.signUp()];
  for (let n = 0; n < 5; n += 1)
    expect((await cid.client.post('/device/approve', { user_code: 'BBBB-BBBB' })).status).toBe(400);
  const sixth = await cid.client.post('/device/approve', { user_code: userCode });
  expect([sixth.status, sixth.body.code]).toEqual([429, 'rate_limited']);
  expect((await dan.client.post('/device/approve', { user_code: userCode })).status).toBe(200);
});
