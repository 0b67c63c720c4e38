import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { BOUNDS } from '../../../src/publishing/posts/dispatch/lateness.ts';
import { testApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';
import { openLadder, probeState, probes, resetProbes } from '../../support/worlds/ladder.ts';
import { startRedis } from '../../support/wire/services.ts';

const redisUrl = process.env['TEST_REDIS_URL'] || undefined; // oxlint-disable-line node/no-process-env -- given by the set-up of the run

const { db, app, ann, client, close } = await openLadder();
afterAll(close);
afterEach(resetProbes);

describe('headers', () => {
  const NAMES = [
    'strict-transport-security',
    'x-frame-options',
    'x-content-type-options',
    'referrer-policy',
    'content-security-policy',
    'cross-origin-resource-policy',
  ];
  const production = {
    NODE_ENV: 'production',
    FRONTEND_URL: 'https://app.example.com',
    NEXT_PUBLIC_BACKEND_URL: 'https://api.example.com',
    BACKEND_INTERNAL_URL: 'https://api.example.com',
    DATABASE_URL: 'postgres://127.0.0.1/x',
    REDIS_URL: 'redis://127.0.0.1',
  };

  test('every answer in production carries the security headers, errors included [HD1, HD2, HD3, HD4, HD5, HD6]', async () => {
    const secure = await testApp({ sql: db.sql, routes: probes, env: production });
    try {
      for (const path of ['/probe', '/nothing', `/probe/${newId()}`]) {
        const { headers } = await secure.client().get(path);
        expect(NAMES.map((name) => headers.get(name))).toEqual([
          'max-age=31536000; includeSubDomains; preload',
          'DENY',
          'nosniff',
          'strict-origin-when-cross-origin',
          expect.stringContaining("default-src 'none'"),
          'cross-origin',
        ]);
        expect(headers.get('x-powered-by')).toBeNull();
      }
    } finally {
      await secure[Symbol.asyncDispose]();
    }
  });
  test('NOT_SECURED turns off the security headers and the CSRF check [CS9, CS10]', async () => {
    const open = await testApp({ sql: db.sql, env: { ...production, NOT_SECURED: 'true' } });
    try {
      const fay = await open.signUp();
      const { headers } = await fay.client.get('/user/self');
      expect(NAMES.map((name) => headers.get(name))).toEqual(NAMES.map(() => null));
      expect((await fay.client.post('/user/api-keys', { name: 'k' }, { 'x-csrf-token': undefined })).status).toBe(201);
    } finally {
      await open[Symbol.asyncDispose]();
    }
  });
  test('cookies in production are for the common domain, secure and for other sites [S26, S229, CS4]', async () => {
    const secure = await testApp({ sql: db.sql, env: production });
    try {
      const answer = await secure.client().post('/auth/register', {
        provider: 'LOCAL',
        email: `${randomUUID()}@example.com`,
        password: 'long enough',
        company: 'Acme',
      });
      const cookies = answer.headers.getSetCookie();
      for (const cookie of cookies)
        expect(cookie).toContain('; Max-Age=2592000; Path=/; Domain=example.com; Secure; SameSite=None');
      expect(cookies.map((cookie) => [cookie.split('=')[0], cookie.endsWith('; HttpOnly')])).toEqual([
        ['auth', true],
        ['refresh', true],
        ['csrf_token', false],
      ]);
    } finally {
      await secure[Symbol.asyncDispose]();
    }
  });
  test('console routes answer only to the origins of the console, with credentials [S20]', async () => {
    const origin = new URL(app.context.config.http.frontendUrl).origin;
    const own = (await ann.client.get('/user/self', { origin })).headers;
    expect([
      own.get('access-control-allow-origin'),
      own.get('access-control-allow-credentials'),
      own.get('vary'),
    ]).toEqual([origin, 'true', 'Origin']);
    expect(own.get('access-control-expose-headers')).toContain('x-ratelimit-remaining');
    for (const foreign of ['https://evil.example', 'null', `${origin}.evil.example`]) {
      const { headers } = await ann.client.get('/user/self', { origin: foreign });
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });
  test('public routes answer to every origin, without credentials; with a cookie the rule of the console holds [S20]', async () => {
    const key = await ann.withKey();
    const { headers } = await key.get('/public/v1/is-connected', { origin: 'https://anywhere.example' });
    expect([headers.get('access-control-allow-origin'), headers.get('access-control-allow-credentials')]).toEqual([
      '*',
      null,
    ]);
    expect(
      (await ann.client.get('/public/v1/both', { origin: 'https://anywhere.example' })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBeNull();
    expect(
      (await client.get('/.well-known/apps-challenge', { origin: 'https://anywhere.example' })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBe('*');
  });
  test('a preflight is answered without a credential [S20]', async () => {
    const { status, headers } = await client.send('OPTIONS', '/public/v1/probe', undefined, {
      origin: 'https://anywhere.example',
      'access-control-request-method': 'POST',
    });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    for (const name of [
      'authorization',
      'auth',
      'content-type',
      'x-csrf-token',
      'idempotency-key',
      'showorg',
      'if-match',
    ])
      expect(headers.get('access-control-allow-headers')).toContain(name);
  });
});

describe('health and process', () => {
  test('live checks nothing; ready checks database and cache [HE1, HE2, HE6, S24]', async () => {
    expect((await client.get('/health/live')).body).toEqual({ status: 'ok', timestamp: expect.stringMatching(/Z$/) });
    expect((await client.get('/health/ready')).body).toEqual({
      status: 'ok',
      timestamp: expect.any(String),
      dependencies: { database: { ok: true }, redis: { ok: true } },
    });
  });
  // without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
  (redisUrl ? test : test.skip)(
    'a Redis that is away is told, without its address, and live goes on [HE1, HE3, HE4, S24]',
    async () => {
      await using redis = (await startRedis(['--user', 'rookery', 'on', '>a-password-of-redis', '~*', '&*', '+@all']))!;
      const url = new URL(redis.url);
      await using lame = await testApp({
        sql: db.sql,
        env: { REDIS_URL: `redis://rookery:a-password-of-redis@${url.host}` },
      });
      const ready = () => lame.client().get('/health/ready');
      await eventually('Redis is connected', async () => (await ready()).status === 200);
      await redis[Symbol.asyncDispose]();
      const { status, body, text } = await ready();
      expect([status, body.status, body.dependencies]).toEqual([
        503,
        'unavailable',
        { database: { ok: true }, redis: { ok: false, error: 'unreachable' } },
      ]);
      for (const secret of ['password', url.port, 'ECONN'])
        expect(text.replace(body.timestamp, '')).not.toContain(secret);
      expect((await lame.client().get('/health/live')).status).toBe(200);
    },
  );
  test('a process that was suspended reads the waiting answer of the database, and does not report it unavailable [HE4]', async () => {
    let asked = false;
    // longer than an answer may take
    const standStill = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_100);
    const sql = openDatabase({
      url: db.url,
      connections: 2,
      onStatement(text) {
        if (text.trim() !== 'select 1') return;
        asked = true;
        setImmediate(standStill); // the database has been asked
      },
    });
    const stalled = await testApp({ sql });
    try {
      await sql`select 2`; // a connection is there
      expect((await stalled.client().get('/health/ready')).body.dependencies).toEqual({
        database: { ok: true },
        redis: { ok: true },
      });
      expect(asked).toBe(true);
    } finally {
      await stalled[Symbol.asyncDispose]();
      await sql.end();
    }
  });
  test('a database that is away is reported, and live goes on [HE1, HE3, HE4]', async () => {
    await using own = await testDatabase();
    const lame = await testApp({ sql: own.sql });
    await own.sql.end();
    try {
      const { status, body } = await lame.client().get('/health/ready');
      expect([status, body.status, body.dependencies.database.ok, body.dependencies.redis.ok]).toEqual([
        503,
        'unavailable',
        false,
        true,
      ]);
      expect((await lame.client().get('/health/live')).status).toBe(200);
      expect(
        (await lame.client().post('/auth/login', { provider: 'local', email: 'a@b.co', password: 'x' })).body,
      ).toMatchObject({
        statusCode: 503,
        code: 'unavailable',
        retryAfter: 2,
      });
    } finally {
      await lame[Symbol.asyncDispose]();
    }
  });
  test('a process that is ending is not ready [S24]', async () => {
    app.context.health.draining = true;
    expect((await client.get('/health/ready')).status).toBe(503);
    app.context.health.draining = false;
    expect((await client.get('/health/ready')).status).toBe(200);
  });
  test('the summary has jobs, crons and lateness [HE5, S24]', async () => {
    await using own = await testDatabase();
    await using host = await openPublishing({ url: own.url });
    await using busy = await testApp({ sql: own.sql, engine: host });
    const due = new Date(Date.now() + 3_600_000);
    await host.engine.remind(
      ['a', 'b'].map((id) => ({ type: 'Channel', id: `${newId()}/${id}`, name: 'due', due, owner: newId() })),
    );
    await own.sql`
      insert into cron_runs
      values ('reconciler', '1970-01-01T00:00:00Z', 'ok', 3, 0), ('sweeper', null, null, null, null)`;
    const counts = BOUNDS.map((bound) => ({ 5: 98, 50: 2 })[bound as number] ?? 0);
    await own.sql`insert into lateness values (date_trunc('minute', now()), 'a', ${counts})`;
    expect((await busy.client().get('/health')).body).toEqual({
      status: 'ok',
      timestamp: expect.any(String),
      version: busy.context.config.version,
      jobs: { engine: 'embedded', wired: ['Organization', 'Channel', 'Post', 'Webhook'], pending: 2 },
      crons: [
        { name: 'reconciler', lastRunAt: '1970-01-01T00:00:00.000Z', lastStatus: 'ok', lastDurationMs: 3 },
        { name: 'sweeper', lastRunAt: null, lastStatus: null, lastDurationMs: null },
      ],
      lateness: { p50Ms: 5, p99Ms: 50 },
      outbox: { refused: 0 },
    });
  });
  test.each(['/health', '/health/live', '/health/ready'])('%s carries no rate headers [HE7, S16]', async (path) => {
    const { status, headers } = await client.get(path);
    expect([status, [...headers.keys()].filter((name) => name.startsWith('x-ratelimit'))]).toEqual([200, []]);
  });
  test('the challenge of an app store is served as plain text; without one the answer is 404 [GN7, S25]', async () => {
    expect((await client.get('/.well-known/apps-challenge')).status).toBe(404);
    const owner = await testApp({ sql: db.sql, env: { APPS_CHALLENGE: 'abc.123' } });
    try {
      const { status, text, headers } = await owner.client().get('/.well-known/apps-challenge');
      expect([status, text, headers.get('content-type')]).toEqual([200, 'abc.123', 'text/plain; charset=utf-8']);
    } finally {
      await owner[Symbol.asyncDispose]();
    }
  });
  test('a taken port is reported with its setting', async () => {
    const { port } = new URL(app.address);
    await expect(testApp({ sql: db.sql, env: { PORT: port } })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is taken by another process. Choose a free one with PORT`,
    );
  });
  test('closing answers running requests and accepts no new ones', async () => {
    const ending = await testApp({ sql: db.sql, routes: probes });
    const asker = ending.client();
    let open = () => {};
    probeState.gate = new Promise((resolve) => (open = resolve));
    const running = asker.get('/probe');
    await eventually('the first is under way', () => probeState.seen.length > 0);
    const closed = ending[Symbol.asyncDispose]();
    await expect(ending.client().get('/probe')).rejects.toThrow();
    open();
    expect((await running).status).toBe(200);
    await closed;
  });
  test('each answer is reported with its declared route, its caller and its time', async () => {
    const id = newId();
    await client.get(`/probe/${id}?secret=1`);
    expect(app.answered.at(-1)).toMatchObject({ method: 'GET', route: '/probe/:id', status: 200, error: undefined });
    await ann.client.get('/probe/admin');
    expect(app.answered.at(-1)).toMatchObject({
      route: '/probe/admin',
      status: 403,
      orgId: ann.orgId,
      userId: ann.userId,
      error: { code: 'super_admin_required' },
    });
  });
});
