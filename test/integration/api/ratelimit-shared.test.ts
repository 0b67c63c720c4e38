import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type Cache, openCache } from '../../../src/platform/cache/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { Client, type TestApp, testApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { startRedis } from '../../support/wire/services.ts';

const redis = await startRedis();
const db = await testDatabase();
afterAll(async () => {
  await redis?.[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** A process that asks `hits` times at once when told to, and says how many were admitted. */
async function counter(bucket: string, limit: number, hits: number) {
  const child = spawn(
    process.execPath,
    [
      '--no-warnings',
      'test/support/processes/scripts/limiter-process.ts',
      redis!.url,
      bucket,
      String(limit),
      String(hits),
    ],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  await once(child.stdout, 'data');
  return async () => {
    child.stdin.write('go\n');
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    const [admitted, shared] = said.toString().trim().split(' ');
    expect(shared).toBe('true');
    return Number(admitted);
  };
}

// without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
(redis ? describe : describe.skip)('one Redis', () => {
  test('three processes at once admit exactly the limit between them [RL7]', async () => {
    const bucket = randomUUID();
    const counters = await Promise.all([0, 1, 2].map(() => counter(bucket, 1_000, 700)));
    const admitted = await Promise.all(counters.map((go) => go()));
    expect(admitted.reduce((sum, one) => sum + one, 0)).toBe(1_000);
  });

  test('a hit is one exchange, concurrent hits share one, and a bucket goes away with its window [RL2]', async () => {
    const prefix = `${randomUUID()}:`;
    await using cache = await openCache(redis!.url, systemClock, { prefix });
    await connected(cache);
    await cache.hit('a', 5, 60_000); // the script is known from here on
    const calls = () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(cli('info', 'commandstats'))?.[1] ?? 0);
    const exchanges = async <T>(work: () => Promise<T>) => {
      const before = calls();
      const result = await work();
      return { result, exchanges: calls() - before };
    };
    const { exchanges: apart } = await exchanges(async () => {
      for (let n = 0; n < 50; n += 1) await cache.hit('a', 5, 60_000);
    });
    expect(apart).toBe(50);

    const buckets = Array.from({ length: 20 }, (_, n) => `many ${n}`);
    const together = await exchanges(() =>
      Promise.all(
        Array.from({ length: 400 }, (_, n) => cache.hit(buckets[n % 20]!, 5 + (n % 20), n % 2 ? 60_000 : 3_600_000)),
      ),
    );
    expect(together.exchanges).toBe(1);
    const ask = 'for n, key in ipairs(KEYS) do KEYS[n] = redis.call("pttl", key) end return KEYS';
    const lefts = cli('eval', ask, '20', ...buckets.map((bucket) => `${prefix}limit:${bucket}`))
      .trim()
      .split('\n')
      .map(Number);
    for (const n of buckets.keys()) {
      const own = together.result.filter((_, hit) => hit % 20 === n);
      expect(own.map(({ remaining }) => remaining)).toEqual(
        Array.from({ length: 20 }, (_, hit) => Math.max(0, 4 + n - hit)),
      );
      expect(own.filter(({ allowed }) => allowed)).toHaveLength(Math.min(20, 5 + n));
      expect(lefts[n]! > 60_000).toBe(n % 2 === 0);
      expect(lefts[n]).toBeGreaterThan(0);
    }
    const behind = await exchanges(async () => {
      const hits = [];
      process.kill(redis!.pid, 'SIGSTOP');
      try {
        for (let n = 0; n < 20; n += 1) {
          hits.push(cache.hit('behind', 15, 60_000));
          await new Promise((turn) => setImmediate(turn));
        }
      } finally {
        process.kill(redis!.pid, 'SIGCONT');
      }
      return Promise.all(hits);
    });
    expect(behind.result.filter(({ allowed }) => allowed)).toHaveLength(15);
    // what is asked while Redis thinks is asked together; each on its own they would be twenty
    expect(behind.exchanges).toBeLessThanOrEqual(5);
    const flood = await exchanges(() =>
      Promise.all(Array.from({ length: 1_200 }, () => cache.hit('flood', 1_000, 60_000))),
    );
    // no script keeps the others waiting for long
    expect([flood.exchanges, flood.result.filter(({ allowed }) => allowed).length]).toEqual([3, 1_000]);
  });

  test('a process that was suspended reads the waiting answer of Redis, and does not report it unavailable [RL5]', async () => {
    const changes: string[] = [];
    await using cache = await openCache(redis!.url, systemClock, {
      prefix: `${randomUUID()}:`,
      onChange: (state) => changes.push(state),
    });
    await connected(cache);
    changes.length = 0;
    const asked = cache.ping();
    spawnSync('sleep', ['1.1']); // longer than an answer may take
    await asked;
    expect([cache.health().limitsShared, changes]).toEqual([true, []]);
  });
});

/** Opening waits for two seconds at most: a slow machine connects later. */
const connected = (cache: Cache) =>
  eventually('Redis is connected', () =>
    cache.ping().then(
      () => cache.health().limitsShared,
      () => false,
    ),
  );
const cli = (...words: string[]) =>
  spawnSync('redis-cli', ['-p', new URL(redis!.url).port, ...words]).stdout.toString();

// without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
(redis ? describe : describe.skip)('a Redis that answers and does not count', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1', REDIS_URL: redis!.url } });
    await connected(app.context.cache);
    app.log.lines.splice(0);
  });
  afterAll(() => app[Symbol.asyncDispose]());
  /** What was told of the cache. */
  const changes = () =>
    app.log.lines.flatMap(({ detail }) => {
      const { event, reason } = detail as { event?: string; reason?: string };
      return event?.startsWith('cache.') ? [`${event.slice('cache.'.length)} ${reason ?? ''}`.trim()] : [];
    });
  const ready = async () => {
    const { status, body } = await new Client(app.address).get('/health/ready');
    return [status, body.dependencies.redis.ok];
  };

  test('limits hold per process without Redis, readiness is 503, one log line says so, and all recovers by itself [RL5, HE3, HE4]', async () => {
    expect(await ready()).toEqual([200, true]);
    const { cache } = app.context;
    await cache.set('kept', 'yes', 60_000);
    // from now on it refuses every write, as a full disk would make it
    cli('config', 'set', 'min-replicas-to-write', '1');
    try {
      const asked = [];
      for (let n = 0; n < 7; n += 1) asked.push((await new Client(app.address).post('/auth/register', {})).status);
      expect(asked).toEqual([400, 400, 400, 400, 400, 429, 429]);
      expect(await ready()).toEqual([503, false]);
      expect(cache.health().limitsShared).toBe(false);
      await eventually(
        'what is only read is read again',
        async () => (await cache.get('kept').catch(() => undefined)) === 'yes',
      );
      expect(await ready()).toEqual([503, false]);
      expect(changes()).toEqual([expect.stringMatching(/^away .*NOREPLICAS/)]);
    } finally {
      cli('config', 'set', 'min-replicas-to-write', '0');
    }
    await eventually('limits are shared again', async () => {
      await cache.hit('any', 1_000, 60_000);
      return cache.health().limitsShared;
    });
    expect(await ready()).toEqual([200, true]);
    expect(changes()).toEqual([expect.stringMatching(/^away/), 'back']);
  });
});
