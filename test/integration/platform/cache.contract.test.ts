import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cache, type CacheOptions, type Hit, openCache } from '../../../src/platform/cache/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { startFaultProxy } from '../../support/processes/fault-proxy.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { freePort } from '../../support/wire/ports.ts';

/** A redis-server of this file's own, that it may stop, hang and kill. */
class OwnRedis {
  readonly dir = mkdtempSync(join(tmpdir(), 'rookery-cache-'));
  port = 0;
  child: ChildProcess | undefined;
  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }
  async start() {
    this.port ||= await freePort();
    this.child = spawn(
      'redis-server',
      ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.dir],
      {
        stdio: 'ignore',
      },
    );
    await until(() => answers(this.port));
  }
  async kill() {
    const gone = new Promise((done) => this.child!.once('exit', done));
    this.child!.kill('SIGKILL');
    await gone;
  }
}
const answers = (port: number) =>
  new Promise<boolean>((done) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
      .on('error', () => done(false))
      .on('data', () => (socket.destroy(), done(true)));
  });
const until = (holds: () => Promise<boolean> | boolean) => eventually('what is waited for', holds);
/** A cache that has its connection: opening one does not wait for it for ever. */
async function opened(url: string | undefined, options: CacheOptions = {}): Promise<Cache> {
  const cache = await openCache(url, systemClock, options);
  await until(() => cache.health().limitsShared);
  return cache;
}

const redis = new OwnRedis();
beforeAll(() => redis.start());
afterAll(async () => {
  await redis.kill();
  rmSync(redis.dir, { recursive: true, force: true });
});

describe.each(['memory', 'redis'] as const)('the cache in %s', (kind) => {
  let cache: Cache;
  beforeAll(async () => {
    cache = await opened(kind === 'redis' ? redis.url : undefined);
  });
  afterAll(async () => cache[Symbol.asyncDispose]());
  /** A second process of the same service; in memory there is only one. */
  const another = async () => (kind === 'redis' ? opened(redis.url) : { ...cache, async [Symbol.asyncDispose]() {} });

  test('reports its kind and answers a ping', async () => {
    expect(cache.kind).toBe(kind);
    await expect(cache.ping()).resolves.toBeUndefined();
    expect(cache.health()).toEqual({ limitsShared: true, awaySince: undefined });
  });

  test('stores, replaces and deletes a value', async () => {
    expect(await cache.get('a')).toBeUndefined();
    await cache.set('a', 'one', 60_000);
    await cache.set('a', 'zwei — Ü', 60_000);
    expect(await cache.get('a')).toBe('zwei — Ü');
    await cache.delete('a');
    await cache.delete('a');
    expect(await cache.get('a')).toBeUndefined();
  });

  test('drops a value when its time to live ends', async () => {
    await cache.set('short', 'x', 40);
    await until(async () => (await cache.get('short')) === undefined);
  });

  test('stores an empty string as a value', async () => {
    await cache.set('empty', '', 60_000);
    expect(await cache.get('empty')).toBe('');
  });

  test('a message reaches every listener of its channel, also in another process, and no other channel', async () => {
    await using second = await another();
    const heard: string[] = [];
    await using _one = await cache.subscribe('news', (message) => heard.push(`one ${message}`));
    await using _two = await second.subscribe('news', (message) => heard.push(`two ${message}`));
    await using _other = await cache.subscribe('sport', (message) => heard.push(`other ${message}`));
    expect(await second.publish('news', 'hello')).toBeGreaterThan(0);
    await until(() => heard.length === 2);
    expect(heard.toSorted()).toEqual(['one hello', 'two hello']);
    expect(await second.publish('weather', 'hello')).toBe(0);
  });

  test('an unsubscribed listener gets no more messages, the others do', async () => {
    const heard: string[] = [];
    const first = await cache.subscribe('leave', (message) => heard.push(`first ${message}`));
    await using _second = await cache.subscribe('leave', (message) => heard.push(`second ${message}`));
    await first[Symbol.asyncDispose]();
    await cache.publish('leave', 'x');
    await until(() => heard.length > 0);
    expect(heard).toEqual(['second x']);
  });

  test('a listener that throws gets the next message, and so do the others', async () => {
    const heard: string[] = [];
    await using _bad = await cache.subscribe('bad', (message) => {
      heard.push(message);
      throw new Error('of the test');
    });
    await using _good = await cache.subscribe('bad', (message) => heard.push(message));
    await cache.publish('bad', '1');
    await cache.publish('bad', '2');
    await until(() => heard.length === 4);
    expect(heard.toSorted()).toEqual(['1', '1', '2', '2']);
  });

  test('admits exactly the limit in a window, and reports what remains and when it resets', async () => {
    const before = systemClock.now().getTime();
    const hits = [];
    for (let n = 0; n < 5; n++) hits.push(await cache.hit('five', 3, 60_000));
    expect(hits.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
      [false, 0],
    ]);
    for (const { resetAt } of hits) {
      expect(resetAt.getTime()).toBeGreaterThan(before + 50_000);
      expect(resetAt.getTime()).toBeLessThanOrEqual(systemClock.now().getTime() + 60_000);
    }
  });

  test('a window is fixed: later hits do not extend it, and a new one starts after it', async () => {
    const before = systemClock.now().getTime();
    const { allowed, resetAt } = await cache.hit('fixed', 1, 500);
    const after = systemClock.now().getTime();
    expect(allowed).toBe(true);
    expect(resetAt.getTime()).toBeGreaterThanOrEqual(before + 500 - 5);
    expect(resetAt.getTime()).toBeLessThanOrEqual(after + 500);
    await until(async () => (await cache.hit('fixed', 1, 500)).allowed); // never, if each of these moved the end
    expect(systemClock.now().getTime()).toBeGreaterThanOrEqual(before + 500 - 5);
  });

  test('buckets are counted separately', async () => {
    expect((await cache.hit('left', 1, 60_000)).allowed).toBe(true);
    expect((await cache.hit('right', 1, 60_000)).allowed).toBe(true);
  });

  test('several buckets are hit together, and a request that one of them refuses leaves the others as they were [RL2]', async () => {
    const ask = (...buckets: [string, number][]) =>
      cache.hitAll(buckets.map(([bucket, limit]) => ({ bucket, limit, windowMs: 60_000 })));
    const told = (hits: Hit[]) => hits.map(({ allowed, remaining }) => [allowed, remaining]);
    const both = () => ask(['wide', 9], ['narrow', 2]);
    expect(told(await both())).toEqual([
      [true, 8],
      [true, 1],
    ]);
    await both();
    const refused = await Promise.all(Array.from({ length: 20 }, both));
    for (const [, narrow] of refused) expect(narrow!.allowed).toBe(false);
    expect(told(await ask(['wide', 9]))).toEqual([[true, 6]]);
    expect(told(await ask(['narrow', 2], ['wide', 9], ['new', 1]))[0]).toEqual([false, 0]);
    expect(told(await ask(['wide', 9], ['new', 1]))).toEqual([
      [true, 5],
      [true, 0],
    ]);
  });

  test('concurrent hits from two processes are counted exactly', async () => {
    await using second = await another();
    const hits = await Promise.all(
      Array.from({ length: 200 }, (_, n) => (n % 2 ? cache : second).hit('crowd', 50, 60_000)),
    );
    expect(hits.filter(({ allowed }) => allowed)).toHaveLength(50);
  });
});

describe('the cache during an outage of Redis', () => {
  test('limits continue per process and report it, values and ping are refused, and all resumes without a restart', async () => {
    await using own = Object.assign(new OwnRedis(), { async [Symbol.asyncDispose]() {} });
    await own.start();
    const changes: string[] = [];
    await using cache = await opened(own.url, { onChange: (state) => changes.push(state) });
    changes.length = 0;
    const heard: string[] = [];
    await using _listener = await cache.subscribe('live', (message) => heard.push(message));
    await own.kill();
    await until(() => cache.health().awaySince !== undefined);

    expect(cache.health().limitsShared).toBe(false);
    const hits = await Promise.all([1, 2, 3].map(() => cache.hit('away', 2, 60_000)));
    expect(hits.map(({ allowed }) => allowed)).toEqual([true, true, false]);
    await expect(cache.get('a')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(cache.set('a', 'b', 1_000)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(cache.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await expect(cache.publish('live', 'lost')).resolves.toBeUndefined();

    await own.start();
    await until(() =>
      cache.ping().then(
        () => true,
        () => false,
      ),
    );
    expect(cache.health()).toEqual({ limitsShared: true, awaySince: undefined });
    expect((await cache.hit('away', 2, 60_000)).remaining).toBe(1);
    await until(async () => {
      await cache.publish('live', 'again');
      return heard.includes('again');
    });
    expect(heard).not.toContain('lost');
    expect(changes).toEqual(['away', 'back']);
    await own.kill();
    rmSync(own.dir, { recursive: true, force: true });
  });

  test('a Redis that hangs delays no caller for long', async () => {
    const own = new OwnRedis();
    await own.start();
    const cache = await opened(own.url);
    own.child!.kill('SIGSTOP');
    const hits = [];
    for (let n = 0; n < 20; n++) hits.push(await cache.hit('hang', 100, 60_000));
    expect(hits.every(({ allowed }) => allowed)).toBe(true);
    expect(cache.health().limitsShared).toBe(false);
    await expect(cache.ping()).rejects.toMatchObject({ code: 'unavailable' });
    own.child!.kill('SIGCONT');
    await until(() =>
      cache.ping().then(
        () => true,
        () => false,
      ),
    );
    expect(cache.health().limitsShared).toBe(true);
    await cache[Symbol.asyncDispose]();
    await own.kill();
    rmSync(own.dir, { recursive: true, force: true });
  });

  test('connections that a firewall forgot are made anew, that of values and that of live messages', async () => {
    await using own = Object.assign(new OwnRedis(), { async [Symbol.asyncDispose]() {} });
    await own.start();
    await using wire = await startFaultProxy(own.port);
    await using cache = await opened(`redis://127.0.0.1:${wire.port}`);
    await using elsewhere = await opened(own.url);
    const heard: string[] = [];
    await using _listener = await cache.subscribe('live', (message) => heard.push(message));
    wire.break({ kind: 'half-open' });
    await expect(cache.ping()).rejects.toMatchObject({ code: 'unavailable' });
    await until(() =>
      cache.ping().then(
        () => true,
        () => false,
      ),
    );
    await until(async () => {
      await elsewhere.publish('live', 'again');
      return heard.includes('again');
    });
    await own.kill();
    rmSync(own.dir, { recursive: true, force: true });
  });

  test('a service starts while its Redis is away', async () => {
    const port = await new Promise<number>((done) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port: free } = server.address() as { port: number };
        server.close(() => done(free));
      });
    });
    await using cache = await openCache(`redis://127.0.0.1:${port}`, systemClock);
    expect(cache.health().limitsShared).toBe(false);
    expect((await cache.hit('b', 1, 60_000)).allowed).toBe(true);
    expect((await cache.hit('b', 1, 60_000)).allowed).toBe(false);
  });
});
