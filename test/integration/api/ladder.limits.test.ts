import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { CLAIM_RENEWAL_MS } from '../../../api/http/idempotency.ts';
import { routes as allRoutes } from '../../../api/resources/routes.gen.ts';
import { networkBucket } from '../../../api/http/throttle.ts';
import { AppError, systemClock } from '../../../src/platform/kernel/index.ts';
import { Client, testApp } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { openLadder, probeState, probes, resetProbes } from '../../support/worlds/ladder.ts';
import { startRedis } from '../../support/wire/services.ts';

const redisUrl = process.env['TEST_REDIS_URL'] || undefined; // oxlint-disable-line node/no-process-env -- given by the set-up of the run

const { db, app, ann, client, close } = await openLadder();
afterAll(close);
afterEach(resetProbes);

describe('order of checks', () => {
  test('the order of checks is 401, then 403 csrf, then 429, then 403, then 400, then 409 [S15]', async () => {
    const bob = await app.signUp();
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${bob.userId}`;
    const scale = app.context.config.http.rateLimitScale;
    const bad = (headers: Record<string, string | undefined> = {}, from = bob.client) =>
      from.post('/probe/order', { text: '', colour: 1 }, { 'idempotency-key': 'k', ...headers });
    expect((await bad({}, app.client())).body.code).toBe('unauthenticated');
    expect((await bad({ 'x-csrf-token': undefined })).body.code).toBe('csrf_failed');
    expect((await bad()).body.code).toBe('forbidden');
    await db.sql`update memberships set role_key = 'owner' where user_id = ${bob.userId}`;
    expect((await bad()).body.code).toBe('unknown_field');
    for (let n = 0; n < 3 * scale - 2; n += 1)
      await app.context.cache.hit(`post /probe/order|org:${bob.orgId}`, 3 * scale, 60_000);
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${bob.userId}`;
    expect((await bad()).body.code).toBe('rate_limited');
    expect((await bad({ 'x-csrf-token': undefined })).body.code).toBe('csrf_failed');
    expect((await bad({}, app.client())).body.code).toBe('unauthenticated');
    expect(probeState.seen).toEqual([]);
  });
});

describe('idempotency', () => {
  const post = (text: string, key: string | undefined, path = '/probe/created') =>
    ann.client.post(path, { text }, { 'idempotency-key': key });
  const stored = () =>
    db.sql`select status, reply from idempotency_keys where org_id = ${ann.orgId} order by created_at desc, key`;

  test('a repeated request gets the first answer, byte for byte, and has no second effect [S18]', async () => {
    const key = randomUUID();
    const first = await post('once', key);
    const second = await post('once', key);
    expect([second.status, second.text, second.headers.get('idempotency-replayed')]).toEqual([
      first.status,
      first.text,
      'true',
    ]);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(probeState.seen).toHaveLength(1);
  });
  test('another body under the same key is refused; another path or org has keys of its own [S18]', async () => {
    const key = randomUUID();
    await post('a', key);
    expect((await post('b', key)).body).toMatchObject({ statusCode: 422, code: 'idempotency_mismatch' });
    const other = await app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${other.userId}, 'owner')`;
    const colleague = await other.client.post(
      '/probe/created',
      { text: 'a' },
      { 'idempotency-key': key, showorg: ann.orgId },
    );
    expect([colleague.status, colleague.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect((await other.client.post('/probe/created', { text: 'b' }, { 'idempotency-key': key })).status).toBe(201);
    const program = await ann.withKey();
    expect((await program.post('/public/v1/probe', { text: 'c' }, { 'idempotency-key': key })).status).toBe(201);
  });
  test('a repeated request is told to wait while the first is running [S18]', async () => {
    const key = randomUUID();
    let open = () => {};
    probeState.gate = new Promise((resolve) => (open = resolve));
    const first = post('slow', key);
    await eventually('the first is under way', () => probeState.seen.length > 0);
    const second = await post('slow', key);
    expect([second.status, second.body.code, second.headers.get('retry-after')]).toEqual([
      409,
      'idempotency_in_flight',
      '1',
    ]);
    open();
    expect((await first).status).toBe(201);
    expect((await post('slow', key)).headers.get('idempotency-replayed')).toBe('true');
  });
  test('a request that lasts longer than its claim keeps it: a repeated one is told to wait [S18]', async () => {
    const every = (ms: number, work: () => void) => systemClock.every(ms === CLAIM_RENEWAL_MS ? 20 : ms, work);
    await using patient = await testApp({
      sql: db.sql,
      routes: [...allRoutes, ...probes],
      clock: { ...systemClock, every },
    });
    const caller = new Client(patient.address);
    for (const [name, value] of ann.client.cookies) caller.cookies.set(name, value);
    const key = randomUUID();
    const send = () => caller.post('/probe/created', { text: 'long' }, { 'idempotency-key': key });
    let open = () => {};
    probeState.gate = new Promise((resolve) => (open = resolve));
    const first = send();
    await eventually('the first is under way', () => probeState.seen.length > 0);
    await db.sql`update idempotency_keys set claimed_until = now() - interval '1 s' where key = ${key}`; // two minutes later
    const isHeld = async () =>
      (await db.sql`select from idempotency_keys where key = ${key} and claimed_until > now()`).count === 1;
    await eventually('the claim is renewed', isHeld);
    expect((await send()).body.code).toBe('idempotency_in_flight');
    open();
    expect((await first).status).toBe(201);
    expect(probeState.seen).toHaveLength(1);
    expect((await send()).headers.get('idempotency-replayed')).toBe('true');
  });
  test('one of fifty requests at once has the effect [S18]', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post('race', key)));
    expect(probeState.seen).toHaveLength(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  });
  test.each([
    ['invalid_content', true],
    ['not_found', true],
    ['conflict', true],
    ['link_expired', true],
    ['limit_exceeded', false],
    ['forbidden', false],
    ['rate_limited', false],
    ['internal', false],
    ['unavailable', false],
  ] as const)('an answer %s is kept: %s [S18]', async (code, kept) => {
    const key = randomUUID();
    probeState.refusal = () => new AppError(code, 'No');
    const first = await post('x', key);
    probeState.refusal = undefined;
    const second = await post('x', key);
    expect(second.status).toBe(kept ? first.status : 201);
    if (kept) expect(second.text).toBe(first.text);
  });
  test('a conflict that asks for a retry is not kept: the repeated request runs [S18]', async () => {
    const key = randomUUID();
    probeState.refusal = () => new AppError('conflict', 'Being completed', { retryAfterMs: 1_000 });
    expect((await post('x', key)).status).toBe(409);
    probeState.refusal = undefined;
    expect((await post('x', key)).status).toBe(201);
  });
  test('a key left by a dead process can be used again, and a day-old one is new [S18]', async () => {
    const key = randomUUID();
    await post('a', key);
    await db.sql`
      update idempotency_keys
      set status = null, reply = null, claimed_until = now() - interval '1 second'
      where key = ${key}`;
    expect((await post('a', key)).status).toBe(201);
    expect(probeState.seen).toHaveLength(2);
    await db.sql`update idempotency_keys set created_at = now() - interval '25 hours' where key = ${key}`;
    expect((await post('other', key)).status).toBe(201);
  });
  test.each(['', 'x'.repeat(256), 'a\tb'])('the key %j is invalid [S18]', async (key) => {
    const { status, body } = await post('a', key);
    expect([status, body.errors[0].field]).toEqual([400, 'idempotency-key']);
  });
  test('nothing is kept without the header, or on a route that creates nothing [S18]', async () => {
    const before = (await stored()).length;
    await post('a', undefined);
    await client.post('/probe', { text: 'a' }, { 'idempotency-key': randomUUID() });
    expect((await stored()).length).toBe(before);
  });
});

describe('rate limits', () => {
  test('each answer gives the remaining requests; beyond the limit 429 says when [S16, RL5, T17]', async () => {
    const limit = 2 * app.context.config.http.rateLimitScale;
    const { headers } = await client.get('/probe/limited');
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual([
      String(limit),
      String(limit - 1),
    ]);
    expect(Math.abs(Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000)).toBeLessThan(62); // oxlint-disable-line no-restricted-properties
    const bucket = `get /probe/limited|${networkBucket(app.context, '127.0.0.1')}`;
    for (let n = 1; n < limit; n += 1) await app.context.cache.hit(bucket, limit, 60_000);
    const refused = await client.get('/probe/limited');
    expect([refused.status, refused.body.code, refused.headers.get('x-ratelimit-remaining')]).toEqual([
      429,
      'rate_limited',
      '0',
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.body.retryAfter).toBe(Number(refused.headers.get('retry-after')));
  });
  test('the default is API_LIMIT an hour, one bucket for each route and caller; the caller is the org [RL1, RL2, RL3, RL4, S17, S240]', async () => {
    const strict = await testApp({
      sql: db.sql,
      routes: [...allRoutes, ...probes],
      env: { RATE_LIMIT_SCALE: '1', TRUST_PROXY_HOPS: '1' },
    });
    try {
      const cat = await strict.signUp();
      const { headers: first } = await cat.client.get('/user/organizations');
      expect(first.get('x-ratelimit-limit')).toBe('600');
      const after = Number(first.get('x-ratelimit-reset')) - new Date(first.get('date')!).getTime() / 1000;
      expect(Math.abs(after - 3_600)).toBeLessThan(30); // by the clock of the answer: an hour, and not a minute
      expect((await cat.client.get('/user/organizations')).headers.get('x-ratelimit-remaining')).toBe('598');
      expect((await cat.client.get('/user/sessions')).headers.get('x-ratelimit-remaining')).toBe('599');
      const program = await cat.withKey();
      const limited = () => cat.client.get('/probe/limited-too');
      expect([(await limited()).status, (await limited()).status, (await limited()).status]).toEqual([200, 200, 429]);
      const dan = await strict.signUp();
      expect((await dan.client.get('/probe/limited-too')).status).toBe(200);
      await db.sql`insert into memberships (org_id, user_id, role_key) values (${cat.orgId}, ${dan.userId}, 'USER')`;
      expect((await dan.client.post('/user/change-org', { id: cat.orgId })).status).toBe(200);
      expect((await dan.client.get('/probe/limited-too')).status).toBe(429); // of the org, whoever asks for it
      expect((await program.get('/public/v1/is-connected')).headers.get('x-ratelimit-remaining')).toBe('599');
      expect([
        (await strict.client().get('/probe/limited')).status,
        (await strict.client().get('/probe/limited')).status,
        (await strict.client().get('/probe/limited')).status,
      ]).toEqual([200, 200, 429]);
      const elsewhere = { 'x-forwarded-for': '203.0.113.9' };
      // each address has a bucket of its own
      expect((await strict.client().get('/probe/limited', elsewhere)).status).toBe(200);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  // without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
  (redisUrl ? test : test.skip)(
    'two replicas over one Redis count together; it counts for readiness [RL7, HE2]',
    async () => {
      await using redis = (await startRedis())!;
      const replicas = await Promise.all(
        [0, 1].map(() =>
          testApp({
            sql: db.sql,
            routes: [...allRoutes, ...probes],
            env: { RATE_LIMIT_SCALE: '1', REDIS_URL: redis.url },
          }),
        ),
      );
      // Opening waits for two seconds at most: a slow machine connects later.
      for (const replica of replicas)
        await eventually(
          'Redis is connected',
          async () => (await replica.client().get('/health/ready')).status === 200,
        );
      try {
        const bob = await replicas[0]!.signUp();
        const ask = (n: number) =>
          new Client(replicas[n]!.address).get('/probe/limited-too', { auth: bob.client.cookies.get('auth') });
        expect([(await ask(0)).status, (await ask(1)).status, (await ask(0)).status, (await ask(1)).status]).toEqual([
          200, 200, 429, 429,
        ]);
        expect((await replicas[0]!.client().get('/health/ready')).status).toBe(200);
      } finally {
        for (const replica of replicas) await replica[Symbol.asyncDispose]();
      }
    },
  );
  test('an address has 5 registrations and 10 logins a minute [S17]', async () => {
    const strict = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1', TRUST_PROXY_HOPS: '1' } });
    try {
      const from = (n: number) => ({ 'x-forwarded-for': `198.51.100.${n}` });
      const register = await Promise.all(
        Array.from({ length: 6 }, () => strict.client().post('/auth/register', {}, from(1))),
      );
      expect(register.map(({ status }) => status).toSorted()).toEqual([400, 400, 400, 400, 400, 429]);
      const login = (n: number, email = `${randomUUID()}@example.com`) =>
        strict.client().post('/auth/login', { provider: 'LOCAL', email, password: 'wrong password' }, from(n));
      const byAddress = [];
      for (let n = 0; n < 11; n += 1) byAddress.push((await login(2)).status);
      expect(byAddress).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  test('the networks of one /48 share a bucket, of 16 times that of a network [S17]', async () => {
    const strict = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '0.2', TRUST_PROXY_HOPS: '1' } });
    try {
      const from = (site: number, network: number) => ({
        'x-forwarded-for': `2001:db8:${site}:${network.toString(16)}::1`,
      });
      const ask = async (site: number, network: number) =>
        (await strict.client().post('/auth/register', {}, from(site, network))).status;
      expect([await ask(1, 0), await ask(1, 0)]).toEqual([400, 429]);
      const others = [];
      for (let network = 1; network < 17; network += 1) others.push(await ask(1, network));
      expect(others.filter((status) => status === 429).length).toBeGreaterThanOrEqual(1);
      expect([await ask(1, 99), await ask(2, 99)]).toEqual([429, 400]);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  test('an address gets 429 after 120 refused credentials, and valid credentials pass [S15, S241]', async () => {
    const strict = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' } });
    try {
      const eve = await strict.signUp();
      const key = await eve.withKey();
      const bad = () => strict.client().get('/public/v1/is-connected', { authorization: `pm_live_${'x'.repeat(43)}` });
      for (let n = 0; n < 120; n += 1) expect((await bad()).status).toBe(401);
      const refused = await bad();
      expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
      expect((await key.get('/public/v1/is-connected')).status).toBe(200);
      expect((await eve.client.get('/user/self')).status).toBe(200);
    } finally {
      await strict[Symbol.asyncDispose]();
    }
  });
  test.each([
    [undefined, '127.0.0.1', '[RL8, X21]'],
    ['nonsense', '127.0.0.1', '[RL8]'],
    ['1', '203.0.113.3', '[RL9, X21]'],
    ['2', '203.0.113.2', '[RL9, X21]'],
    ['9', '127.0.0.1', '[RL9]'],
  ] as [string | undefined, string, string][])('the caller behind %s proxies is %s %s', async (hops, expected) => {
    const proxied = await testApp({
      sql: db.sql,
      routes: probes,
      env: hops === undefined ? {} : { TRUST_PROXY_HOPS: hops },
    });
    try {
      expect(
        (await proxied.client().get('/probe', { 'x-forwarded-for': '203.0.113.1, 203.0.113.2,203.0.113.3' })).body.ip,
      ).toBe(expected);
      expect((await proxied.client().get('/probe')).body.ip).toBe('127.0.0.1');
      expect((await proxied.client().get('/probe', { 'x-forwarded-for': 'not an address' })).body.ip).toBe('127.0.0.1');
    } finally {
      await proxied[Symbol.asyncDispose]();
    }
  });
});
