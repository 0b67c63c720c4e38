import { setTimeout as sleep } from 'node:timers/promises';
import type { TestDatabase } from '../../support/wire/database.ts';
import { type Figures, spread } from '../kit/figures.ts';
import { HANGING } from '../kit/hanging.ts';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { announce, handedTo, seedPosts, type SeededPost, seedTenants, type Tenant } from '../kit/seed.ts';
import { openQueue } from '../kit/wave-peer.ts';
import { openWorld, type Provider, type World } from '../kit/world.ts';

const ORGS = 50;
const PER_CHANNEL = 10;
/** Calls under way at a time, on every side; the product gives one network a quarter of all. */
const IN_FLIGHT = 512;
const PEER_CONNECTIONS = 16;
const HANGING_MS = 10_000;
const SWEEP_MS = 5_000; // after it the product has registered what was put into its tables
const BULLMQ_LEAD_MS = 3_000;
const GIVE_UP_MS = 240_000;
const WITHOUT = 'rookery, without the fault';
const BULLMQ = 'bullmq@6.7.0, one queue';

interface Seeded {
  database: TestDatabase;
  healthy: readonly Tenant[];
  hanging: readonly Tenant[];
}
interface Run extends Seeded {
  provider: Provider;
  size: number;
  hangingMs: number;
  leadMs: number;
}

/** Posts for two networks, all due at one moment, of which one answers after ten seconds: how late those of the other. */
export async function hang(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { quick, say } = options;
  const size = options.size ?? (quick ? 200 : 2_000);
  const provider = await world.provider();
  const own = await seeded(world, size);
  const product = await world.product(own.database, { env: { PROVIDER_CALLS_IN_FLIGHT: `${4 * IN_FLIGHT}` } });
  say(`the product serves at ${product.url}`);
  const others = await seeded(world, size);
  const skipped: string[] = [];
  const bullmq = await openQueue('bullmq', world, skipped, {
    databaseUrl: others.database.url,
    provider,
    connections: PEER_CONNECTIONS,
    concurrency: IN_FLIGHT,
  });

  const ownRun = (hangingMs: number) =>
    late({ ...own, provider, size, hangingMs, leadMs: SWEEP_MS + 2_000 }, async (posts) => {
      await announce(own.database.sql, posts);
      return () => published(own.database.sql, posts.length, () => product.lastWords());
    });
  const sides: Side[] = [
    { name: 'rookery', run: () => ownRun(HANGING_MS) },
    { name: WITHOUT, run: () => ownRun(0) },
    ...(bullmq
      ? [
          {
            name: BULLMQ,
            run: () =>
              late({ ...others, provider, size, hangingMs: HANGING_MS, leadMs: BULLMQ_LEAD_MS + size }, (posts) =>
                handedTo(bullmq, posts),
              ),
          },
        ]
      : []),
  ];
  const against = (peer: string, goal?: number): Comparison => ({
    name: `lateness of the healthy network, p99, ${peer}`,
    figure: 'healthy_p99_ms',
    peer,
    better: 'smaller',
    ...(goal !== undefined && { goal }),
  });
  const comparisons = [against(WITHOUT, 1 / 1.2), ...(bullmq ? [against(BULLMQ)] : [])];
  const { pairs, figures, ratios } = await interleave(sides, comparisons, options);
  return {
    bench: 'hang',
    size,
    pairs,
    skipped,
    figures,
    ratios,
    goals: [{ name: 'early', value: figures['rookery']!['early']!, most: 0 }],
    settings: { postsForEach: size, hangingMs: HANGING_MS, inFlight: IN_FLIGHT, orgs: 2 * ORGS },
    leavesOut: ['bullmq keeps no order per channel, and has one queue for both networks'],
  };
}

async function seeded(world: World, size: number): Promise<Seeded> {
  const database = await world.database();
  const channels = Math.max(ORGS, size / PER_CHANNEL);
  return {
    database,
    healthy: await seedTenants(database.sql, { orgs: ORGS, channels }),
    hanging: await seedTenants(database.sql, {
      orgs: ORGS,
      channels,
      account: HANGING,
      server: 'https://hanging.example',
    }),
  };
}

/** Has the posts of both networks fall due at one moment; a post of the hanging one carries the token of its account. */
async function late(
  { database: { sql }, healthy, hanging, provider, size, hangingMs, leadMs }: Run,
  prepare: (posts: readonly SeededPost[]) => Promise<() => Promise<void>>,
): Promise<Figures> {
  await sql`truncate posts, outbox cascade`;
  await provider.reset(0, hangingMs);
  const due = new Date(Date.now() + leadMs);
  const well = await seedPosts(sql, healthy, size, () => due);
  const ill = await seedPosts(sql, hanging, size, () => due);
  await sql`analyze posts`;
  // in turn, as they would come: a queue takes them in the order in which it was given them
  const posts = well.flatMap((post, n) => [post, { ...ill[n]!, token: `sandbox.${HANGING}-${n}` }]);
  const wait = await prepare(posts);
  await sleep(Math.max(0, due.getTime() - Date.now()));
  await wait();
  const { keys, at } = await provider.arrivals();
  const wells = new Set(well.map(({ id }) => id));
  const lates = keys.map((key, n) => ({ isWell: wells.has(key), ms: at[n]! - due.getTime() }));
  const of = (isWell: boolean) => lates.filter((one) => one.isWell === isWell).map(({ ms }) => ms);
  return {
    ...spread('healthy', of(true)),
    ...spread('hanging', of(false)),
    early: lates.filter(({ ms }) => ms < 0).length,
  };
}

async function published(sql: TestDatabase['sql'], count: number, lastWords: () => string): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  for (;;) {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from posts where state = 'PUBLISHED'`;
    if (row!.count === count) return;
    if (performance.now() > end)
      throw new Error(`${row!.count} of ${count} posts were published after ${GIVE_UP_MS / 1_000} s\n${lastWords()}`);
    await sleep(200);
  }
}
