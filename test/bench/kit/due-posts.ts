import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/index.ts';
import { type Figures, spread } from './figures.ts';
import { announce, seedPosts, type Tenant } from './seed.ts';
import type { Provider } from './world.ts';

const SWEEP_MS = 5_000; // after it the product has registered what was put into its tables
const AHEAD_MS = 100; // what runs beside the posts has begun when the first one is due
const SETTLE_MS = 500; // results are written
const GIVE_UP_MS = 600_000;

/** What ran beside the posts. */
export interface Beside {
  figures: Figures;
  /** Whether it ran at this moment. */
  ranAt(ms: number): boolean;
}
interface DuePosts {
  sql: Database;
  tenants: readonly Tenant[];
  provider: Provider;
  due: number;
  perSecond: number;
  /** Numbers that grow; how much they have grown from just before the first post until all are out is told. */
  counters?: () => Figures;
}

/**
 * Has posts fall due one after another, with or without something beside them, which is told when the last one is due:
 * how late they are, and how many of them fell due while it ran.
 */
export async function duePosts(
  { sql, tenants, provider, due, perSecond, counters = () => ({}) }: DuePosts,
  beside?: (lastDue: number) => Promise<Beside>,
): Promise<Figures> {
  await provider.reset(0);
  const start = Date.now() + SWEEP_MS + 2_000;
  // a few channels of every organization
  const few = tenants.map(({ channels, ...tenant }) => ({
    ...tenant,
    channels: channels.slice(0, Math.ceil(due / tenants.length)),
  }));
  const posts = await seedPosts(sql, few, due, (n) => new Date(start + (n * 1_000) / perSecond));
  await sql`analyze posts`;
  await announce(sql, posts);
  await sleep(Math.max(0, start - AHEAD_MS - Date.now()));

  const before = counters();
  const [ran] = await Promise.all([beside?.(posts.at(-1)!.due), arrived(provider, due)]);
  await sleep(SETTLE_MS);
  const grown = Object.entries(counters()).map(([name, value]) => [name, value - before[name]!]);

  const { keys, at, doubled } = await provider.arrivals();
  const dueOf = new Map(posts.map((post) => [post.id, post.due]));
  const late = keys.map((key, n) => at[n]! - dueOf.get(key)!);
  return {
    ...spread('late', late),
    early: late.filter((ms) => ms < 0).length,
    doubled,
    ...(ran && { ...ran.figures, due_beside: posts.filter((post) => ran.ranAt(post.due)).length / due }),
    ...Object.fromEntries(grown),
  };
}

async function arrived(provider: Provider, count: number): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  while ((await provider.count()) < count) {
    if (performance.now() > end)
      throw new Error(`${await provider.count()} of ${count} posts came after ${GIVE_UP_MS / 1_000} s`);
    await sleep(50);
  }
}
