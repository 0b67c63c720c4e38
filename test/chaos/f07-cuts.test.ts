import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../../dapr/processes.ts';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { brokenFor, type Fault, type FaultProxy, startFaultProxy } from '../support/processes/fault-proxy.ts';
import { startEmbedded, type Wire } from '../support/processes/service.ts';
import { brokenBy, testOnDapr, type Wave, wholeOf } from '../support/processes/wave-fault.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { comes } from '../support/processes/wave.ts';
import { testDatabase } from '../support/wire/database.ts';
import { eventually } from '../support/wire/eventually.ts';
import { startRedis } from '../support/wire/services.ts';

// F7: the wires between the parts of a deployment are slow, stand still, are cut or forgotten, both ways or one, in the
// middle of a wave.

interface Cut {
  fault: Fault;
  ms: number;
}
const [BRIEF_MS, LONG_MS] = isFull ? [5_000, 30_000] : [700, 4_000];

/** One after another; the first one while all connections are well and idle, which is when nobody notices it. */
const CUTS: readonly Cut[] = [
  { fault: { kind: 'half-open' }, ms: LONG_MS },
  { fault: { kind: 'delay', ms: 200 }, ms: BRIEF_MS },
  { fault: { kind: 'slow', bytesPerSecond: 100_000 }, ms: BRIEF_MS },
  { fault: { kind: 'stop', ways: ['down'] }, ms: BRIEF_MS },
  { fault: { kind: 'stop', ways: ['up'] }, ms: BRIEF_MS },
  { fault: { kind: 'reset' }, ms: LONG_MS },
  { fault: { kind: 'stop' }, ms: LONG_MS },
];
const ALL_MS = CUTS.reduce((sum, { ms }) => sum + ms, 0);
const POSTS = isFull ? 2_000 : 160;
/** Posts fall due under each of the cuts, and after the last one. */
const WAVE: Wave = { posts: POSTS, overMs: ALL_MS, before: 10, later: POSTS / 8, laterMs: ALL_MS + 1_000 };

async function cutEach(proxy: FaultProxy, cuts: readonly Cut[]): Promise<void> {
  for (const { fault, ms } of cuts) await brokenFor(proxy, fault, ms);
}

describe('a wire that can be broken', () => {
  /** A server that says everything back, and the wire to it. */
  async function echo() {
    const served: Socket[] = [];
    const server = createServer((socket) => {
      served.push(socket);
      socket.on('error', () => undefined).pipe(socket);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const proxy = await startFaultProxy((server.address() as AddressInfo).port);
    const clients: Socket[] = [];
    /** A connection, with what was heard on it, and the code of its end. */
    async function dial() {
      const socket = connect(proxy.port, '127.0.0.1');
      clients.push(socket);
      const line = { heard: '', end: undefined as string | undefined, say: (text: string) => void socket.write(text) };
      socket
        .on('data', (bytes: Buffer) => (line.heard += bytes))
        .on('error', ({ code }: NodeJS.ErrnoException) => (line.end = code))
        .on('close', () => (line.end ??= 'closed'));
      line.say('hello');
      await eventually('the wire carries', () => line.heard === 'hello' || line.end !== undefined);
      return line;
    }
    return {
      proxy,
      served,
      dial,
      async [Symbol.asyncDispose]() {
        for (const socket of [...clients, ...served]) socket.destroy();
        await proxy[Symbol.asyncDispose]();
        server.close();
      },
    };
  }

  test('stands still one way, and delivers all of it when it is whole again', async () => {
    await using wire = await echo();
    const line = await wire.dial();
    wire.proxy.break({ kind: 'stop', ways: ['down'] });
    line.say(' again');
    await eventually('it was heard there', () => wire.served[0]!.bytesRead === 'hello again'.length);
    await sleep(50);
    expect(line.heard).toBe('hello');
    wire.proxy.heal();
    await eventually('it was answered', () => line.heard === 'hello again');
  });

  test('delays and slows what it carries', async () => {
    await using wire = await echo();
    const line = await wire.dial();
    const took = async (text: string) => {
      const [heard, start] = [line.heard, performance.now()];
      line.say(text);
      await eventually('it was answered', () => line.heard === heard + text);
      return performance.now() - start;
    };
    wire.proxy.break({ kind: 'delay', ms: 100, ways: ['up'] });
    expect(await took(' later')).toBeGreaterThanOrEqual(95);
    wire.proxy.break({ kind: 'slow', bytesPerSecond: 1_000, ways: ['up'] });
    expect(await took('x'.repeat(300))).toBeGreaterThanOrEqual(245);
  });

  test('resets what is open, and what is opened', async () => {
    await using wire = await echo();
    const line = await wire.dial();
    wire.proxy.break({ kind: 'reset' });
    await eventually('it was reset', () => line.end === 'ECONNRESET');
    expect((await wire.dial()).end).toBe('ECONNRESET');
    wire.proxy.heal();
    expect((await wire.dial()).heard).toBe('hello');
  });

  test('forgets connections: their servers see them end, their clients hear nothing, new ones work', async () => {
    await using wire = await echo();
    const line = await wire.dial();
    wire.proxy.break({ kind: 'half-open' });
    await eventually('the server sees its end', () => wire.served[0]!.destroyed);
    line.say(' again');
    expect((await wire.dial()).heard).toBe('hello');
    wire.proxy.heal();
    expect([line.heard, line.end]).toEqual(['hello', undefined]);
  });
});

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
const random = chance('f07');

(hasRedis ? test : test.skip).each(rounds(8))(
  'round $round of $of: the wires to Postgres and to Redis are cut in every way, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]',
  async () => {
    await using database = await testDatabase();
    await using redis = (await startRedis())!;
    const target = new URL(database.url);
    await using toPostgres = await startFaultProxy(Number(target.port));
    await using toRedis = await startFaultProxy(Number(new URL(redis.url).port));
    target.host = `127.0.0.1:${toPostgres.port}`;
    await using thirdParties = await startThirdParties();
    await using service = await startEmbedded({
      database: { url: target.href },
      ledger: database,
      env: { ...thirdParties.env, REDIS_URL: `redis://127.0.0.1:${toRedis.port}` },
    });
    const outcome = await brokenBy({
      service,
      sql: database.sql,
      random,
      thirdParties,
      wave: WAVE,
      breaks: () => Promise.all([cutEach(toPostgres, CUTS), cutEach(toRedis, CUTS)]),
    });
    expect(outcome).toEqual(wholeOf(WAVE));
    const isReady = async () => (await ask(`${service.url}/health/ready`)).status === 200;
    expect(await comes(isReady, 60_000)).toBe(true);
  },
  600_000,
);

/**
 * What can happen between a host and its sidecar: both are on one machine, whose kernel tells either of the other's
 * end.
 */
const ON_ONE_MACHINE = CUTS.filter(({ fault }) => fault.kind !== 'half-open');
const WIRES: readonly Wire[] = ['app', 'grpc', 'http', 'placement'];
const proxies = new Map<string, FaultProxy>();
const cuttable = (wire: Wire) => async (port: number, host: number) => {
  const proxy = await startFaultProxy(port);
  proxies.set(`${wire} ${host}`, proxy);
  return proxy;
};

testOnDapr({
  name: 'f07',
  most: 8,
  title: 'the wires between one host, its sidecar and placement are cut in every way',
  between: Object.fromEntries(WIRES.map((wire) => [wire, cuttable(wire)])),
  wave: WAVE,
  async breaks(service, draws) {
    const host = draws.pick(service.hosts.length);
    await Promise.all(
      WIRES.map((wire, n) => {
        const cuts = wire === 'placement' ? CUTS : ON_ONE_MACHINE;
        // at any time each of them is cut in another way: one that is whole shows what is lost on the others
        return cutEach(proxies.get(`${wire} ${host}`)!, [...cuts.slice(2 * n), ...cuts.slice(0, 2 * n)]);
      }),
    );
  },
});
