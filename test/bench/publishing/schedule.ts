import type { Database } from '../../../src/platform/db/index.ts';
import type { TestDatabase } from '../../support/wire/database.ts';
import { counted, type Counts, idleRate } from '../kit/counters.ts';
import { type Figures, rounded } from '../kit/figures.ts';
import { startCpu, type Used } from '../kit/cpu.ts';
import { createPost, openLoad, openLoop } from '../kit/load.ts';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import { type Report, skippedWithout } from '../kit/report.ts';
import { seedTenants, type Tenant } from '../kit/seed.ts';
import { openWorld, type World } from '../kit/world.ts';

const CALLERS = 32;
const CONNECTIONS = 8;
/** A transaction for each request keeps more connections busy than statements that are shared. */
const PEER_CONNECTIONS = 16;
const HOUR_MS = 3_600_000;
const SHARE = 0.7;

interface Target extends Used {
  url: string;
  sql: Database;
  tenants: readonly Tenant[];
  idle: Counts;
}

/** Creates of single posts over HTTP: rate of a closed loop, latency at a fixed rate, and cost. */
export async function schedule(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { engine, quick, say } = options;
  const orgs = options.size ?? (quick ? 100 : 1_000);
  const ms = quick ? 2_500 : 6_000;
  const restMs = quick ? 1_100 : 2_000;
  const own = await tenantsOn(world, orgs);
  const product = await world.product(own.database, { env: { DATABASE_CONNECTION_LIMIT: `${CONNECTIONS}` } });
  say(`the product serves at ${product.url}`);

  const target = async (
    { database, tenants }: Awaited<ReturnType<typeof tenantsOn>>,
    url: string,
    used: Omit<Used, 'world'>,
  ): Promise<Target> => ({
    url,
    sql: database.sql,
    tenants,
    world,
    ...used,
    idle: await idleRate(database.sql, restMs),
  });
  const stack = async (queue: string): Promise<Target> => {
    const others = await tenantsOn(world, orgs);
    const child = await world.peer('schedule-fastify.mjs', {
      databaseUrl: others.database.url,
      connections: PEER_CONNECTIONS,
    });
    const { url } = (await child.ask({ do: 'listen', tenants: others.tenants, queue })) as { url: string };
    return target(others, url, { pids: [child.pid] });
  };
  const targets = {
    rookery: await target(own, product.url, { pids: product.apps, dapr: product.dapr, redis: product.redis }),
    graphile: await stack('graphile'),
    pgboss: await stack('pgboss'),
  };

  const skipped: string[] = [];
  const redis = await skippedWithout(skipped, 'bullmq add', () => world.redis());
  const bullmq = redis && (await world.peer('schedule-bullmq.mjs', { redisPort: redis.port }));
  await bullmq?.ask({ do: 'ready' });

  let slowest = Infinity;
  for (const one of Object.values(targets))
    slowest = Math.min(slowest, (await measured(one, { ms, restMs: 0, dueInMs: HOUR_MS }))['per_s']!);
  const perSecond = slowest * SHARE;
  say(`open loop at ${rounded(perSecond)} a second: ${SHARE} of the slowest side's rate`);

  const sides: Side[] = [
    {
      name: 'rookery',
      run: () => measured(targets.rookery, { ms, restMs, dueInMs: HOUR_MS, perSecond, farMs: 30 * 24 * HOUR_MS }),
    },
    {
      name: 'fastify + graphile-worker@0.18.0',
      run: () => measured(targets.graphile, { ms, restMs, dueInMs: HOUR_MS, perSecond }),
    },
    {
      name: 'fastify + pg-boss@12.38.0',
      run: () => measured(targets.pgboss, { ms, restMs, dueInMs: HOUR_MS, perSecond }),
    },
    ...(bullmq
      ? [
          {
            name: 'bullmq@6.7.0, add alone',
            run: async () => ({
              per_s: (await bullmq.ask({ do: 'add', callers: CALLERS, ms: ms / 2, dueInMs: HOUR_MS })) as number,
            }),
          },
        ]
      : []),
  ];
  const embedded = engine === 'embedded';
  const against = (peer: string, goal: number): Comparison[] => [
    { name: `rate, ${peer}`, figure: 'per_s', peer, better: 'greater', ...(embedded && { goal }) },
    { name: `p99, ${peer}`, figure: 'create_p99_ms', peer, better: 'smaller', ...(embedded && { goal: 2 }) },
    { name: `cpu, ${peer}`, figure: 'all_cpu_ms_per_op', peer, better: 'smaller' },
  ];
  const { pairs, figures, ratios } = await interleave(
    sides,
    [...against('fastify + graphile-worker@0.18.0', 3), ...against('fastify + pg-boss@12.38.0', 2)],
    options,
  );
  const measuredOwn = figures['rookery']!;
  return {
    bench: 'schedule',
    size: orgs,
    pairs,
    skipped,
    figures,
    ratios,
    goals: embedded ? [{ name: 'commits per post', value: measuredOwn['commits_per_op']!, most: 0.15 }] : [],
    settings: {
      orgs,
      callers: CALLERS,
      connections: { rookery: CONNECTIONS, peers: PEER_CONNECTIONS },
      openLoopPerSecond: rounded(perSecond),
      due: 'in 1 h; per_s_far: in 30 days',
      log: 'warn',
    },
    leavesOut: [
      'the peers have no ladder: no sessions, rate limit, permissions, idempotency, limits of the network',
      'their limit is one conditional update, cheaper than a row lock and an update',
      'bullmq only adds jobs, without HTTP and rows',
    ],
  };
}

async function tenantsOn(world: World, orgs: number): Promise<{ database: TestDatabase; tenants: Tenant[] }> {
  const database = await world.database();
  return { database, tenants: await seedTenants(database.sql, { orgs, channels: orgs }) };
}

interface Run {
  ms: number;
  restMs: number;
  dueInMs: number;
  /** Of the open loop; absent: none. */ perSecond?: number;
  /** Measures the closed loop again with posts due so much later. */ farMs?: number;
}

async function measured(target: Target, { ms, restMs, dueInMs, perSecond, farMs }: Run): Promise<Figures> {
  const { url, sql, tenants, idle } = target;
  await using load = openLoad(url, CALLERS);
  const create = (inMs: number) => (n: number) => {
    const { key, channels } = tenants[n % tenants.length]!;
    return createPost(load, { key, channelId: channels[0]!, due: new Date(Date.now() + inMs) });
  };
  const emptied = async () => {
    await sql`truncate posts, outbox cascade`;
    await sql`update channels set next_due_at = null, reminder_due_at = null, due_version = due_version + 1`;
    await sql`vacuum channels`;
  };
  await emptied();
  const { result, commits, syncs } = await counted(sql, idle, restMs, async () => {
    const [cpu, begun] = [startCpu(target), performance.now()];
    const ended = await load.closed(ms, create(dueInMs));
    return { ended, spent: cpu(ended), took: performance.now() - begun };
  });
  const open = perSecond === undefined ? {} : await openLoop('create', { perSecond, ms }, create(dueInMs));
  let far: Figures = {};
  if (farMs !== undefined) {
    await emptied();
    const begun = performance.now();
    const ended = await load.closed(ms / 2, create(farMs));
    far = { per_s_far: (ended * 1_000) / (performance.now() - begun) };
  }
  return {
    per_s: (result.ended * 1_000) / result.took,
    ...far,
    ...open,
    ...result.spent,
    commits_per_op: commits / result.ended,
    syncs_per_op: syncs / result.ended,
  };
}
