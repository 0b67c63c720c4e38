import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/index.ts';
import type { TestDatabase } from '../../support/wire/database.ts';
import type { Child } from '../kit/child.ts';
import { type Figures, spread } from '../kit/figures.ts';
import { createPost, openLoad } from '../kit/load.ts';
import type { Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import { type Report, skippedWithout } from '../kit/report.ts';
import { CONTENT, handedTo, seedPosts, seedTenants, type SeededPost, type Tenant } from '../kit/seed.ts';
import { openWorld, type Provider, type World } from '../kit/world.ts';

const ORGS = 100;
const CHANNELS = 1_000;
const APART_MS = 500;
const POLL_MS = 100;
const GIVE_UP_MS = 60_000;
const CALLERS = 16;
/** A transaction for each post keeps more connections busy than statements that are shared. */
const PEER_CONNECTIONS = 32;

/** How late a lone post of an idle system goes out, and how late each of many that are due within one second. */
export async function lateness(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const { engine, quick, say } = options;
  const alone = quick ? 8 : 40;
  const crowd = options.size ?? (quick ? 200 : 1_000);
  const provider = await world.provider();
  const own = await tenantsOn(world);
  const product = await world.product(own.database);
  say(`the product serves at ${product.url}`);
  await using load = openLoad(product.url, CALLERS);

  const others = await tenantsOn(world);
  const common = {
    databaseUrl: others.database.url,
    providerUrl: provider.url,
    connections: PEER_CONNECTIONS,
    text: CONTENT.replace(/<.*?>/g, ''),
  };
  const skipped: string[] = [];
  const redis = await skippedWithout(skipped, 'bullmq', () => world.redis());
  const bullmq = redis && (await world.peer('wave-bullmq.mjs', { ...common, redisPort: redis.port, concurrency: 256 }));
  const graphile = await world.peer('jobs-graphile.mjs', { ...common, concurrency: 256, pollMs: POLL_MS });
  await Promise.all([bullmq, graphile].map(async (child) => child?.ask({ do: 'ready' })));

  /** Every post by a create of its own, as clients make them. */
  const throughApi = async (dues: readonly Date[]): Promise<Map<string, number>> => {
    const channels = own.tenants.flatMap(({ key, channels: ids }) => ids.map((channelId) => ({ key, channelId })));
    const created = await load.each(dues, async (due, n) => {
      const { key, channelId } = channels[n % channels.length]!;
      return [await createPost(load, { key, channelId, due }), due.getTime()] as const;
    });
    return new Map(created);
  };
  const asJobs =
    (child: Child) =>
    async (dues: readonly Date[]): Promise<Map<string, number>> => {
      const posts: SeededPost[] = await seedPosts(others.database.sql, others.tenants, dues.length, (n) => dues[n]!);
      await handedTo(child, posts);
      return new Map(posts.map(({ id, due }) => [id, due]));
    };
  const sideOf = (
    name: string,
    sql: Database,
    make: (dues: readonly Date[]) => Promise<Map<string, number>>,
  ): Side => ({
    name,
    async run() {
      while (
        (
          await sql`
        select 1
        from posts
        where state = 'QUEUE'
        limit 1`
        ).length > 0
      )
        await sleep(100); // the last results of the round before
      await sql`truncate posts, outbox cascade`;
      const lone = await lates(provider, alone, (n) => 1_500 + n * APART_MS, make);
      const many = await lates(provider, crowd, (n) => 3_000 + crowd * 2 + Math.floor((n * 1_000) / crowd), make);
      return {
        ...spread('lone', lone),
        ...spread('crowd', many),
        early: [...lone, ...many].filter((ms) => ms < 0).length,
      } satisfies Figures;
    },
  });

  const [mostLone, mostCrowd] = engine === 'embedded' ? [50, 500] : [200, 1_200];
  const against = (peer: string): Comparison[] =>
    ['lone_p50_ms', 'lone_p99_ms', 'crowd_p99_ms'].map((figure) => ({
      name: `${figure}, ${peer}`,
      figure,
      peer,
      better: 'smaller',
    }));
  const { pairs, figures, ratios } = await interleave(
    [
      sideOf('rookery', own.database.sql, throughApi),
      ...(bullmq ? [sideOf('bullmq@6.7.0', others.database.sql, asJobs(bullmq))] : []),
      sideOf('graphile-worker@0.18.0', others.database.sql, asJobs(graphile)),
    ],
    [...(bullmq ? against('bullmq@6.7.0') : []), ...against('graphile-worker@0.18.0')],
    options,
  );
  const measured = figures['rookery']!;
  return {
    bench: 'lateness',
    size: alone,
    pairs,
    skipped,
    figures,
    ratios,
    goals: [
      { name: 'lone post, p99 in ms', value: measured['lone_p99_ms']!, most: mostLone },
      { name: `${crowd} posts in one second, p99 in ms`, value: measured['crowd_p99_ms']!, most: mostCrowd },
      { name: 'early', value: measured['early']!, most: 0 },
    ],
    settings: {
      alone,
      crowd,
      apartMs: APART_MS,
      connections: { rookery: 8, peers: PEER_CONNECTIONS },
      bullmq: 'concurrency 256',
      'graphile-worker': `concurrency 256, localQueue 500, pollInterval ${POLL_MS}`,
      redis: 'appendonly yes, appendfsync always',
    },
    leavesOut: [
      'posts of the product come through its API, those of the others are inserted and given to their queues',
    ],
  };
}

async function tenantsOn(world: World): Promise<{ database: TestDatabase; tenants: Tenant[] }> {
  const database = await world.database();
  return { database, tenants: await seedTenants(database.sql, { orgs: ORGS, channels: CHANNELS }) };
}

/** Milliseconds from each due time until the network was asked. */
async function lates(
  provider: Provider,
  count: number,
  dueInMs: (n: number) => number,
  make: (dues: readonly Date[]) => Promise<Map<string, number>>,
): Promise<number[]> {
  await provider.reset(0);
  const begun = Date.now();
  const wanted = await make(Array.from({ length: count }, (_, n) => new Date(begun + dueInMs(n))));
  const last = begun + dueInMs(count - 1);
  await sleep(Math.max(0, last - Date.now()));
  while ((await provider.count()) < count) {
    if (Date.now() > last + GIVE_UP_MS)
      throw new Error(
        `${await provider.count()} of ${count} posts came within ${GIVE_UP_MS / 1_000} s of the last due time`,
      );
    await sleep(50);
  }
  const { keys, at } = await provider.arrivals();
  return keys.map((key, n) => at[n]! - wanted.get(key)!);
}
