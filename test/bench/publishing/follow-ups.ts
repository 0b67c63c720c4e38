import { setTimeout as sleep } from 'node:timers/promises';
import { type Counts, counted, idleRate } from '../kit/counters.ts';
import { startCpu } from '../kit/cpu.ts';
import { type Figures, spread } from '../kit/figures.ts';
import type { Options } from '../kit/options.ts';
import { interleave, type Side, latenessBeside } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { announce, seedPosts, seedTenants } from '../kit/seed.ts';
import { openWorld, type Product, type Provider } from '../kit/world.ts';
import type { TestDatabase } from '../../support/wire/database.ts';
import type { Tenant } from '../kit/seed.ts';

const ORGS = 100;
const PER_CHANNEL = 10;
const SWEEP_MS = 5_000; // after it the product has registered what was put into its tables
const GIVE_UP_MS = 240_000;
const WITHOUT = 'without first comments';

interface Run {
  database: TestDatabase;
  tenants: readonly Tenant[];
  provider: Provider;
  product: Product;
  world: { postgresCpuMs(): number };
  size: number;
  restMs: number;
  idle: Counts;
}

/**
 * Posts that fall due at one moment, each with a first comment: what the comments cost, and whether they make the posts
 * later than they are without.
 */
export async function followUps(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { quick, say } = options;
  const size = options.size ?? (quick ? 500 : 10_000);
  const restMs = quick ? 1_100 : 2_000;
  const provider = await world.provider();
  const channels = Math.max(ORGS, Math.min(1_000, size / PER_CHANNEL));
  const database = await world.database();
  const tenants = await seedTenants(database.sql, { orgs: ORGS, channels });
  const product = await world.product(database, { env: { PROVIDER_CALLS_IN_FLIGHT: '2048' } });
  say(`the product serves at ${product.url}`);
  const idle = await idleRate(database.sql, restMs);
  const run = { database, tenants, provider, product, world, size, restMs, idle };
  const sides: Side[] = [
    { name: 'rookery', run: () => published(run, { firstComment: 'The first comment' }) },
    { name: WITHOUT, run: () => published(run, {}) },
  ];
  const { pairs, figures, ratios } = await interleave(sides, [latenessBeside(WITHOUT)], options);
  const { rookery: own, [WITHOUT]: bare } = figures as Record<string, Record<string, number>>;
  return {
    bench: 'follow-ups',
    size,
    pairs,
    skipped: [],
    figures,
    ratios,
    goals: [
      { name: 'calls of the network for a comment', value: own!['calls_per_comment']!, most: 1 },
      {
        name: 'commits for a comment',
        value: own!['commits_per_op']! - bare!['commits_per_op']!,
        most: 4,
      },
      { name: 'early', value: own!['early']!, most: 0 },
    ],
    settings: { orgs: ORGS, channels, comments: 'one below each post, when it is published' },
    leavesOut: [`${WITHOUT} makes half of the calls`],
  };
}

async function published(
  { database: { sql }, tenants, provider, product, world, size, restMs, idle }: Run,
  settings: { firstComment?: string },
): Promise<Figures> {
  await sql`truncate posts, outbox cascade`;
  await provider.reset(0);
  const due = new Date(Date.now() + SWEEP_MS + 2_000);
  const posts = await seedPosts(sql, tenants, size, () => due, settings);
  await sql`analyze posts`;
  const cpu = startCpu({ world, pids: product.apps, dapr: product.dapr, redis: product.redis });
  await announce(sql, posts);
  await sleep(Math.max(0, due.getTime() - Date.now() - 50));
  const wanted = settings.firstComment === undefined ? 0 : size;
  const { result: spent, commits } = await counted(sql, idle, restMs, async () => {
    await settled(sql, wanted, size, product);
    return cpu(size);
  });
  const late = (await provider.arrivals()).at.map((ms) => ms - due.getTime());
  const comments = await provider.comments();
  return {
    ...spread('late', late),
    early: late.filter((ms) => ms < 0).length,
    ...(wanted > 0 && {
      calls_per_comment: (comments.keys.length + comments.doubled) / size,
      comments_done_ms: Math.max(...comments.at) - due.getTime(),
    }),
    ...spent,
    commits_per_op: commits / size,
  };
}

/** Ends when every post is published and every comment that was asked for is made. */
async function settled(sql: TestDatabase['sql'], comments: number, size: number, product: Product): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  for (;;) {
    const [row] = await sql<{ posts: number; comments: number }[]>`
      select (select count(*)::int from posts where state = 'PUBLISHED') as posts,
        (select count(*)::int from post_follow_ups where state = 'done') as comments`;
    if (row!.posts === size && row!.comments === comments) return;
    if (performance.now() > end)
      throw new Error(`Not done after ${GIVE_UP_MS / 1_000} s: ${JSON.stringify(row)}\n${product.lastWords()}`);
    await sleep(100);
  }
}
