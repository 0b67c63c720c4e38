import { fileURLToPath } from 'node:url';
import { Client, signUp } from '../support/worlds/app.ts';
import { eventually } from '../support/wire/eventually.ts';
import { startRedis } from '../support/wire/services.ts';
import type { Child } from './kit/child.ts';
import { type Figures, rounded } from './kit/figures.ts';
import { CannotRun, type Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import { cpuMs } from './kit/processes.ts';
import type { Report } from './kit/report.ts';
import { openRequestLoad, type Target } from './kit/requests.ts';
import { seedTenants } from './kit/seed.ts';
import { openWorld } from './kit/world.ts';

const CALLERS = 32;
const LIMITER_CALLERS = 64;
const PATH = '/public/v1/is-connected';
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * The smallest read with an API key: the whole ladder against servers that look the key up in memory and count on
 * Redis; and the limiter alone.
 */
export async function auth(options: Options): Promise<Report> {
  const { quick, say } = options;
  await using redis = await startRedis();
  if (!redis) throw new CannotRun('redis-server is not on this machine');
  await using world = await openWorld(options);
  const keys = options.size ?? 1_000;
  const ms = quick ? 1_500 : 5_000;
  const database = await world.database();
  const tenants = await seedTenants(database.sql, { orgs: keys, channels: 0 });
  const product = await world.product(database, { env: { REDIS_URL: redis.url } });
  const load = openRequestLoad(world, CALLERS);
  const peerOf = async (server: string) => {
    const child = await world.peer('server.mjs', { redisUrl: redis.url, server }, 'auth');
    const { url } = (await child.ask({ do: 'listen', tenants: tenants.map(({ key, orgId }) => ({ key, orgId })) })) as {
      url: string;
    };
    return { url, pids: [child.pid] };
  };
  const targets = {
    rookery: { url: product.url, pids: product.apps },
    fastify: await peerOf('fastify'),
    express: await peerOf('express'),
    floor: await peerOf('floor'),
  };
  const limiters = {
    own: world.script(script('./processes/auth-limiter.ts'), { redisUrl: redis.url }),
    flexible: await world.peer('limiter.mjs', { redisUrl: redis.url }, 'auth'),
  };

  const requests = tenants.map(({ key }) => ({ path: PATH, headers: { authorization: key } }));
  const half = rounded((await load.closed(targets.rookery, requests, ms)).perSecond / 2);
  say(`open loop at ${half} a second: half of the product's rate`);
  const measured = async (target: Target): Promise<Figures> => {
    const exchanges = await exchangesOf(redis.url);
    const { answered, perSecond, cpuMs: cpu } = await load.closed(target, requests, ms);
    const asked = (await exchangesOf(redis.url)) - exchanges;
    return {
      per_s: perSecond,
      cpu_ms_per_op: cpu,
      redis_exchanges_per_op: asked / answered,
      ...(await load.open(target, requests, ms / 2, half)),
    };
  };
  const limited = async (child: Child): Promise<Figures> => {
    const [before, exchanges] = [cpuMs([child.pid]), await exchangesOf(redis.url)];
    const { hits, took } = (await child.ask({ do: 'hits', callers: LIMITER_CALLERS, ms: ms / 2 })) as {
      hits: number;
      took: number;
    };
    const [cpu, asked] = [cpuMs([child.pid]) - before, (await exchangesOf(redis.url)) - exchanges];
    const admitted = (await child.ask({ do: 'exact', hits: 5_000, limit: 1_000 })) as number;
    return {
      limiter_per_s: (hits * 1_000) / took,
      limiter_cpu_ms_per_op: cpu / hits,
      limiter_exchanges_per_op: asked / hits,
      over_admitted: admitted - 1_000,
    };
  };
  const sides: Side[] = [
    { name: 'rookery', run: async () => ({ ...(await measured(targets.rookery)), ...(await limited(limiters.own)) }) },
    { name: 'fastify@5.12.8', run: () => measured(targets.fastify) },
    { name: 'express@5.3.0', run: () => measured(targets.express) },
    { name: 'node:http, the same headers', run: () => measured(targets.floor) },
    { name: 'rate-limiter-flexible@11.4.0', run: () => limited(limiters.flexible) },
  ];
  const comparisons: Comparison[] = [
    { name: 'rate, fastify', figure: 'per_s', peer: 'fastify@5.12.8', better: 'greater', goal: 1 },
    { name: 'cpu, fastify', figure: 'cpu_ms_per_op', peer: 'fastify@5.12.8', better: 'smaller' },
    { name: 'rate, express', figure: 'per_s', peer: 'express@5.3.0', better: 'greater' },
    { name: 'cpu, express', figure: 'cpu_ms_per_op', peer: 'express@5.3.0', better: 'smaller' },
    { name: 'cpu, node:http (floor)', figure: 'cpu_ms_per_op', peer: 'node:http, the same headers', better: 'smaller' },
    { name: 'limiter', figure: 'limiter_per_s', peer: 'rate-limiter-flexible@11.4.0', better: 'greater', goal: 1 },
    { name: 'limiter cpu', figure: 'limiter_cpu_ms_per_op', peer: 'rate-limiter-flexible@11.4.0', better: 'smaller' },
  ];
  const { pairs, figures, ratios } = await interleave(sides, comparisons, options);
  const own = figures['rookery']!;
  return {
    bench: 'auth',
    size: keys,
    pairs,
    skipped: [],
    figures,
    ratios,
    goals: [
      { name: 'Redis exchanges per request', value: own['redis_exchanges_per_op']!, most: 1.01 },
      { name: 'admitted beyond the limit', value: own['over_admitted']!, most: 0 },
      { name: 'p99 at half of the greatest rate, ms', value: own['read_p99_ms']!, most: 1 },
      { name: 'seconds until a revoked key is refused', value: await revocation(product.url), most: 1 },
    ],
    settings: {
      keys,
      callers: CALLERS,
      openLoopPerSecond: half,
      limiterCallers: LIMITER_CALLERS,
      redis: 'one for all sides, not durable',
      log: 'warn',
    },
    leavesOut: [
      'the peers know every key by heart and have no permissions, no request ids, no security headers, no log and no revocation',
    ],
  };
}

/**
 * How often Redis has read from a connection so far: what is pipelined arrives in one read, so this is what each side
 * sends over the wire.
 */
async function exchangesOf(url: string): Promise<number> {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url);
  const text = await redis.info('stats');
  redis.disconnect();
  return Number(/^total_reads_processed:(\d+)/m.exec(text)![1]);
}

async function revocation(url: string): Promise<number> {
  const { client, withKey } = await signUp(url, {});
  const program: Client = await withKey();
  const [{ id }] = (await client.get('/user/api-keys')).body as [{ id: string }];
  await program.get(PATH);
  await client.delete(`/user/api-keys/${id}`);
  const revoked = performance.now();
  await eventually('the key is refused', async () => (await program.get(PATH)).status === 401);
  return rounded((performance.now() - revoked) / 1_000);
}
