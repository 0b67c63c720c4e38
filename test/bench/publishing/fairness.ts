import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/index.ts';
import { type Figures, spread } from '../kit/figures.ts';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { announce, handedTo, seedPosts, type SeededPost, seedTenants, type Tenant } from '../kit/seed.ts';
import { openQueue } from '../kit/wave-peer.ts';
import { openWorld, type Provider, type World } from '../kit/world.ts';

const SMALL = 99;
const EQUAL = 10;
const FLOOD_CHANNELS = 900;
/** Calls to the one network under way at a time, on every side. */
const IN_FLIGHT = 512;
/** As in `wave`: more connections serve transactions of single posts better. */
const PEER_CONNECTIONS = 16;
const SWEEP_MS = 5_000; // after it the product has registered what was put into its tables
const QUEUE_LEAD_MS = 3_000;
const GIVE_UP_MS = 240_000;
const BULLMQ = 'bullmq@6.7.0';
const GROUPMQ = 'groupmq@1.1.0';

/** Whose posts fall due at one moment: of each organization so many, the first ones handed over first. */
type Load = readonly { tenant: Tenant; posts: number }[];
interface Loads {
  flood: Load;
  /** The small ones without the flood. */
  alone: Load;
  equal: Load;
}

/**
 * One organization with thousands of posts and 99 with one, all due at one moment: how late the small ones are, in the
 * flood and alone; and how evenly ten equal ones are served while there is more than can be.
 */
export async function fairness(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { engine, quick, say } = options;
  const size = options.size ?? (quick ? 1_000 : 9_900);
  const provider = await world.provider();
  const own = await seeded(world, size);
  const product = await world.product(own.database, { env: { PROVIDER_CALLS_IN_FLIGHT: `${4 * IN_FLIGHT}` } });
  say(`the product serves at ${product.url}`);
  const skipped: string[] = [];
  const queues: Side[] = [];
  for (const [name, queue] of [
    [BULLMQ, 'bullmq'],
    [GROUPMQ, 'groupmq'],
  ] as const) {
    const { database, loads } = await seeded(world, size);
    const child = await openQueue(queue, world, skipped, {
      databaseUrl: database.url,
      provider,
      connections: PEER_CONNECTIONS,
      concurrency: IN_FLIGHT,
    });
    if (child)
      queues.push({
        name,
        run: () =>
          all(loads, (load) =>
            fired({ sql: database.sql, provider, leadMs: QUEUE_LEAD_MS + size / 2 }, load, (posts) =>
              handedTo(child, posts),
            ),
          ),
      });
  }

  const sides: Side[] = [
    {
      name: 'rookery',
      run: () =>
        all(own.loads, (load) =>
          fired({ sql: own.database.sql, provider, leadMs: SWEEP_MS + 2_000 }, load, async (posts) => {
            await announce(own.database.sql, posts);
            return () => arrived(provider, posts.length, () => product.lastWords());
          }),
        ),
    },
    ...queues,
  ];
  const goals: Record<string, number> = { [BULLMQ]: 15, [GROUPMQ]: 1 };
  const comparisons = queues.map(({ name: peer }): Comparison => ({
    name: `small organizations in the flood, p99, ${peer}`,
    figure: 'small_p99_ms',
    peer,
    better: 'smaller',
    ...(engine === 'embedded' && { goal: goals[peer]! }),
  }));
  const { pairs, figures, ratios } = await interleave(sides, comparisons, options);
  const found = figures['rookery']!;
  return {
    bench: 'fairness',
    size,
    pairs,
    skipped,
    figures,
    ratios,
    goals: [
      { name: 'Jain index of ten equal organizations', value: found['jain']!, least: 0.95 },
      { name: 'early', value: found['early']!, most: 0 },
      { name: 'doubled', value: found['doubled']!, most: 0 },
      ...(engine === 'dapr'
        ? [
            {
              name: 'small organizations, p99, of that of the flood',
              value: found['small_p99_ms']! / found['flood_p99_ms']!,
              most: 0.6,
            },
          ]
        : []),
    ],
    settings: { flood: size, small: SMALL, equal: EQUAL, inFlight: IN_FLIGHT, floodChannels: FLOOD_CHANNELS },
    leavesOut: [
      'bullmq keeps no order per channel, and serves first what came first',
      'groupmq publishes one post of an organization at a time, and its jobs wait in a paused queue until they are due',
    ],
  };
}

async function seeded(world: World, size: number) {
  const database = await world.database();
  const small = await seedTenants(database.sql, { orgs: SMALL, channels: SMALL });
  const [flood] = await seedTenants(database.sql, { orgs: 1, channels: Math.min(FLOOD_CHANNELS, size) });
  const equal = await seedTenants(database.sql, { orgs: EQUAL, channels: Math.min(FLOOD_CHANNELS, size) });
  const each = (tenants: readonly Tenant[], posts: number) => tenants.map((tenant) => ({ tenant, posts }));
  const loads: Loads = {
    flood: [{ tenant: flood!, posts: size }, ...each(small, 1)],
    alone: each(small, 1),
    equal: each(equal, Math.floor(size / EQUAL)),
  };
  return { database, loads };
}

/** `doubled`: calls for posts that had come before, of this load or of the one before it. */
type Fire = (load: Load) => Promise<{ late: Map<string, number[]>; order: string[]; doubled: number }>;

async function all({ flood, alone, equal }: Loads, fire: Fire): Promise<Figures> {
  const lateOf = (late: Map<string, number[]>, load: Load) =>
    load.flatMap(({ tenant }) => late.get(tenant.orgId) ?? []);
  const rounds = [await fire(flood), await fire(alone), await fire(equal)] as const;
  const [{ late: inFlood }, { late: without }, { order }] = rounds;
  return {
    ...spread('small', lateOf(inFlood, alone)),
    ...spread('flood', lateOf(inFlood, flood.slice(0, 1))),
    ...spread('alone', lateOf(without, alone)),
    jain: jainOf(order.slice(0, order.length / 2)),
    early: rounds.flatMap(({ late }) => [...late.values()].flat()).filter((ms) => ms < 0).length,
    doubled: rounds.reduce((sum, { doubled }) => sum + doubled, 0),
  };
}

/** 1 where each organization came equally often. */
function jainOf(orgs: readonly string[]): number {
  const shares = [...Map.groupBy(orgs, (org) => org).values()].map((one) => one.length);
  const sum = shares.reduce((a, b) => a + b, 0);
  return sum ** 2 / (EQUAL * shares.reduce((a, b) => a + b ** 2, 0));
}

/** Has the posts of a load fall due at one moment; answers how late each came, and whose came in which order. */
async function fired(
  { sql, provider, leadMs }: { sql: Database; provider: Provider; leadMs: number },
  load: Load,
  prepare: (posts: readonly SeededPost[]) => Promise<() => Promise<void>>,
): ReturnType<Fire> {
  await sql`truncate posts, outbox cascade`;
  await provider.reset(0);
  const due = new Date(Date.now() + leadMs);
  const posts: SeededPost[] = [];
  for (const { tenant, posts: count } of load) posts.push(...(await seedPosts(sql, [tenant], count, () => due)));
  await sql`analyze posts`;
  const wait = await prepare(posts);
  await sleep(Math.max(0, due.getTime() - Date.now()));
  await wait();
  const { keys, at, doubled } = await provider.arrivals();
  const orgOf = new Map(posts.map(({ id, orgId }) => [id, orgId]));
  const came = keys.flatMap((key, n) => {
    const orgId = orgOf.get(key);
    return orgId === undefined ? [] : [{ orgId, ms: at[n]! - due.getTime() }];
  });
  const late = Map.groupBy(came, ({ orgId }) => orgId);
  return {
    late: new Map([...late].map(([orgId, list]) => [orgId, list.map(({ ms }) => ms)])),
    order: came.map(({ orgId }) => orgId),
    doubled: doubled + keys.length - came.length,
  };
}

async function arrived(provider: Provider, count: number, lastWords: () => string): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  while ((await provider.count()) < count) {
    if (performance.now() > end)
      throw new Error(`${await provider.count()} of ${count} posts came after ${GIVE_UP_MS / 1_000} s\n${lastWords()}`);
    await sleep(50);
  }
  await sleep(500); // results are written
}
