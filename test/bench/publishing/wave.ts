import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/index.ts';
import type { TestDatabase } from '../../support/wire/database.ts';
import type { Child } from '../kit/child.ts';
import { type Counts, counted, idleRate } from '../kit/counters.ts';
import { startCpu, type Used } from '../kit/cpu.ts';
import { type Figures, spread } from '../kit/figures.ts';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import { peakMb } from '../kit/processes.ts';
import { type Report, skippedWithout } from '../kit/report.ts';
import { announce, CONTENT, handedTo, seedPosts, seedTenants, type SeededPost, type Tenant } from '../kit/seed.ts';
import { openWorld, type Provider, type Redis, type World } from '../kit/world.ts';

const ORGS = 100;
const PER_CHANNEL = 10;
/** Calls to one network under way at a time, on every side; the product gives one network a quarter of all. */
const IN_FLIGHT = 512;
const CONNECTIONS = 8;
/**
 * A transaction for each post keeps more connections busy than statements that are shared: each of these is tried, and
 * the best one taken.
 */
const PEER_CHOICES = [8, 16, 32].flatMap((connections) =>
  [256, IN_FLIGHT].map((concurrency) => ({ connections, concurrency })),
);
const SWEEP_MS = 5_000; // after it the product has registered what was put into its tables
const BULLMQ_LEAD_MS = 3_000;
const GIVE_UP_MS = 180_000;
const TEXT = CONTENT.replace(/<.*?>/g, '');

/** N posts that fall due at one moment: how fast they go out, how late, and at what cost. */
export async function wave(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { engine, quick, say } = options;
  const size = options.size ?? (quick ? 1_000 : 10_000);
  const provider = await world.provider();
  const channels = Math.max(ORGS, Math.min(1_000, size / PER_CHANNEL));
  const own = await tenantsOn(world, channels);
  const product = await world.product(own.database, {
    env: { PROVIDER_CALLS_IN_FLIGHT: `${4 * IN_FLIGHT}`, DATABASE_CONNECTION_LIMIT: `${CONNECTIONS}` },
  });
  say(`the product serves at ${product.url}`);

  const others = await tenantsOn(world, channels);
  const common = { databaseUrl: others.database.url, providerUrl: provider.url, text: TEXT };
  const skipped: string[] = [];
  const redises = await skippedWithout(skipped, 'bullmq', async () => ({
    always: await world.redis('always'),
    everysec: await world.redis('everysec'),
  }));
  const bare = await world.peer('wave-bare.mjs', { ...common, connections: CONNECTIONS, concurrency: IN_FLIGHT });
  await bare.ask({ do: 'ready' });

  const restMs = quick ? 1_100 : 2_000;
  const run = { world, provider, size, restMs };
  const idle = { own: await idleRate(own.database.sql, restMs), others: await idleRate(others.database.sql, restMs) };
  const sides = (latencyMs: number, suffix: string): Side[] => [
    {
      name: `rookery${suffix}`,
      run: () =>
        measured(
          own.database.sql,
          { ...run, idle: idle.own, latencyMs, pids: product.apps, dapr: product.dapr, redis: product.redis },
          async (posts) => {
            await announce(own.database.sql, posts);
            return () => settled(own.database.sql, provider, size, () => product.lastWords());
          },
          own.tenants,
          SWEEP_MS + 2_000,
        ),
    },
    ...Object.entries(bullmq ?? {}).map(([name, { child, redis }]) => ({
      name: `${name}${suffix}`,
      run: () => peerRun(child, latencyMs, BULLMQ_LEAD_MS + size / 2, redis.pid),
    })),
    { name: `bare${suffix}`, run: () => peerRun(bare, latencyMs, 2_000) },
  ];
  const peerRun = (child: Child, latencyMs: number, leadMs: number, redis?: number): Promise<Figures> =>
    measured(
      others.database.sql,
      { ...run, idle: idle.others, latencyMs, pids: [child.pid], redis },
      (posts) => handedTo(child, posts),
      others.tenants,
      leadMs,
    );
  const startBullmq = async (redis: Redis, choice: object) => {
    const child = await world.peer('wave-bullmq.mjs', { ...common, ...choice, redisPort: redis.port });
    await child.ask({ do: 'ready' });
    return child;
  };
  /** How many connections and jobs at a time serve BullMQ best on this machine. */
  async function bestChoice(redis: Redis) {
    let best: { choice: (typeof PEER_CHOICES)[number]; rate: number } | undefined;
    for (const choice of quick ? PEER_CHOICES.slice(-1) : PEER_CHOICES) {
      await using child = await startBullmq(redis, choice);
      const rate = (await peerRun(child, 0, BULLMQ_LEAD_MS + size / 2, redis.pid))['drain_per_s']!;
      say(
        `bullmq with ${choice.connections} connections and ${choice.concurrency} jobs at a time: ${Math.round(rate)} a second`,
      );
      if (!best || rate > best.rate) best = { choice, rate };
    }
    return best!.choice;
  }
  const choice = redises && (await bestChoice(redises.always));
  const bullmq = choice && {
    'bullmq@6.7.0': { child: await startBullmq(redises.always, choice), redis: redises.always },
    'bullmq@6.7.0, everysec': { child: await startBullmq(redises.everysec, choice), redis: redises.everysec },
  };

  const goals = engine === 'embedded' ? { bullmq: 3, bare: 0.9 } : { bullmq: 2, bare: undefined };
  const comparisons = (suffix: string): Comparison[] => [
    ...(bullmq
      ? [
          {
            name: `drain, bullmq${suffix}`,
            figure: 'drain_per_s',
            peer: `bullmq@6.7.0${suffix}`,
            better: 'greater' as const,
            goal: goals.bullmq,
          },
          {
            name: `late_p99, bullmq${suffix}`,
            figure: 'late_p99_ms',
            peer: `bullmq@6.7.0${suffix}`,
            better: 'smaller' as const,
            ...(engine === 'embedded' && { goal: 1 / 0.35 }),
          },
          {
            name: `cpu, bullmq${suffix}`,
            figure: 'all_cpu_ms_per_op',
            peer: `bullmq@6.7.0${suffix}`,
            better: 'smaller' as const,
          },
          {
            name: `drain, bullmq everysec${suffix}`,
            figure: 'drain_per_s',
            peer: `bullmq@6.7.0, everysec${suffix}`,
            better: 'greater' as const,
          },
        ]
      : []),
    {
      name: `drain, bare${suffix}`,
      figure: 'drain_per_s',
      peer: `bare${suffix}`,
      better: 'greater',
      ...(goals.bare !== undefined && { goal: goals.bare }),
    },
  ];
  const atOnce = await interleave(sides(0, ''), comparisons(''), options);
  const suffix = ', provider 100 ms';
  // The less durable Redis has its figures above.
  const durable = <T extends { name: string }>(list: readonly T[]) =>
    list.filter(({ name }) => !name.includes('everysec'));
  const slow = quick
    ? undefined
    : await interleave(durable(sides(100, suffix)), durable(comparisons(suffix)), {
        ...options,
        pairs: Math.min(3, options.pairs),
      });
  const figures = atOnce.figures['rookery']!;
  return {
    bench: 'wave',
    size,
    pairs: atOnce.pairs,
    skipped,
    figures: { ...atOnce.figures, ...slow?.figures },
    ratios: { ...atOnce.ratios, ...slow?.ratios },
    goals: [
      { name: 'early', value: figures['early']!, most: 0 },
      { name: 'doubled', value: figures['doubled']!, most: 0 },
      { name: 'CPU of the product, ms per post', value: figures['cpu_ms_per_op']!, most: 0.3 },
      ...(engine === 'embedded'
        ? [{ name: 'commits per post', value: figures['commits_per_op']!, most: 0.1 }]
        : [{ name: 'CPU of the Dapr processes, ms per post', value: figures['dapr_cpu_ms_per_op']!, most: 0.3 }]),
    ],
    settings: {
      orgs: ORGS,
      channels,
      inFlight: IN_FLIGHT,
      connections: CONNECTIONS,
      bullmq:
        choice &&
        `best of ${quick ? 1 : PEER_CHOICES.length}: ${choice.connections} connections, concurrency ${choice.concurrency}; removeOnComplete`,
      redis: 'appendonly yes, appendfsync always; everysec may lose the last second',
      cpu: 'from before the posts are announced or handed over until all are out',
    },
    leavesOut: [
      'bullmq keeps no order per channel and is not fair over orgs',
      'bare has no contracts, fences, retries or errors',
      'the product also deals its outbox out, the others leave theirs',
    ],
  };
}

async function tenantsOn(world: World, channels: number): Promise<{ database: TestDatabase; tenants: Tenant[] }> {
  const database = await world.database();
  return { database, tenants: await seedTenants(database.sql, { orgs: ORGS, channels }) };
}

type Prepare = (posts: readonly SeededPost[]) => Promise<() => Promise<void>>;
interface Run extends Used {
  provider: Provider;
  size: number;
  latencyMs: number;
  restMs: number;
  idle: Counts;
}

async function measured(
  sql: Database,
  { provider, size, latencyMs, restMs, idle, ...used }: Run,
  prepare: Prepare,
  tenants: readonly Tenant[],
  leadMs: number,
): Promise<Figures> {
  await sql`truncate posts, outbox cascade`;
  await provider.reset(latencyMs);
  const due = new Date(Date.now() + leadMs);
  const posts = await seedPosts(sql, tenants, size, () => due);
  await sql`analyze posts`;
  const cpu = startCpu(used);
  const wait = await prepare(posts);
  await sleep(Math.max(0, due.getTime() - Date.now() - 50));
  const {
    result: spent,
    commits,
    syncs,
  } = await counted(sql, idle, restMs, async () => {
    await wait();
    return cpu(size);
  });
  const [row] = await sql<
    { ms: number }[]
  >`select (extract(epoch from max(published_at) - ${due}::timestamptz) * 1000)::float8 as ms from posts`;
  const { at, doubled } = await provider.arrivals();
  const late = at.map((ms) => ms - due.getTime());
  return {
    drain_per_s: (size / row!.ms) * 1_000,
    ...spread('late', late),
    early: late.filter((ms) => ms < 0).length,
    doubled,
    ...spent,
    commits_per_op: commits / size,
    syncs_per_op: syncs / size,
    peak_mb: used.pids.reduce((sum, pid) => sum + peakMb(pid), 0),
  };
}

/** Ends when every post is published; the network is asked first, so that the database is not. */
async function settled(sql: Database, provider: Provider, size: number, lastWords: () => string): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  const published = async () =>
    (await sql<{ count: number }[]>`select count(*)::int as count from posts where state = 'PUBLISHED'`)[0]!.count;
  while ((await provider.count()) < size || (await published()) < size) {
    if (performance.now() > end)
      throw new Error(
        `${await published()} of ${size} posts were published after ${GIVE_UP_MS / 1_000} s\n${lastWords()}`,
      );
    await sleep(50);
  }
}
