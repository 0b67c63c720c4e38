import { newId } from '../../../src/platform/kernel/index.ts';
import type { Context } from '../../../src/context.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import type { Counts, Published } from '../../../src/providers/social/_contract.ts';
import { emptyTables, testDatabase } from '../wire/database.ts';
import { noEngine } from './app.ts';
import { type Network, openNetwork, openPublishing } from './publishing/world.ts';

const DAY_MS = 86_400_000;
/** The UTC date so many days ago. */
export const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);

interface Told {
  account: string;
  from: string;
  to: string;
}
type Points = readonly { metric: string; points: readonly { date: string; value: number }[] }[];

/** The numbers of a network of the test, and a ledger of what it was asked. */
export function numbersOf(network: Network, { atOnce = 100 }: { atOnce?: number } = {}) {
  const ledger = {
    /** Questions for the numbers of a channel. */
    days: [] as Told[],
    /** Questions for counts of posts: their releases. */
    posts: [] as string[][],
    series: ((_asked: Told) => []) as (asked: Told) => Points | Promise<Points>,
    counts: ((_release: string) => ({})) as (release: string) => Counts | undefined,
  };
  network.declares = {
    ...network.declares,
    metricsAtOnce: atOnce,
    metrics: (async ({ posts }: { posts: readonly Published[] }) => {
      ledger.posts.push(posts.map(({ id }) => id));
      return posts.flatMap(({ id }) => {
        const counts = ledger.counts(id);
        return counts ? [{ id, counts }] : [];
      });
    }) as never, // the line of a channel is wider
    channelMetrics: (async ({ account, from, to }: Told) => {
      ledger.days.push({ account, from, to });
      return ledger.series({ account, from, to });
    }) as never,
  };
  return ledger;
}

/** The collection of organizations is due, and begun. */
export async function beginCollection({ analytics, sql }: Pick<Context, 'analytics' | 'sql'>): Promise<void> {
  await analytics.keepSchedules(500);
  await sql`update analytics_schedules set next_at = now() - interval '1 second'`;
  await analytics.runCollections(500);
}
/** What was postponed is due now. */
export const makeCollectionsDue = (sql: Database) =>
  sql`update analytics_collections set due_at = now() - interval '1 second'`;

/** A whole collection of every organization. */
export async function collectAll(context: Pick<Context, 'analytics' | 'sql'>): Promise<void> {
  await beginCollection(context);
  while ((await context.analytics.collectDue(50)) > 0);
}

/** A channel whose network is never called. */
export async function seedChannel(sql: Database, orgId: string, name = 'Acme'): Promise<string> {
  const id = newId();
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${orgId}, 'sandbox', 'v1', ${id}, ${name}, 'v2:')`;
  return id;
}

interface Numbers {
  orgId: string;
  channelId: string;
  metric?: string;
  /** By days ago. */
  values: Readonly<Record<number, number>>;
  derived?: boolean;
}
/** Writes values of days as a collection does. */
export async function seedDays(
  sql: Database,
  { orgId, channelId, metric = 'views', values, derived = false }: Numbers,
) {
  const days = Object.entries(values);
  await sql`
    insert into analytics_days (org_id, channel_id, metric, date, value, derived)
    select ${orgId}::uuid, ${channelId}::uuid, ${metric}::text, d::date, v, ${derived}::bool
    from unnest(
      ${days.map(([ago]) => daysAgo(Number(ago)))}::text[], ${days.map(([, value]) => value)}::float8[]
    ) as t (d, v)`;
}

interface PublishedPost {
  orgId: string;
  channelId: string;
  /** Days ago, at noon UTC. */
  ago: number;
  release?: string | null;
}
/** A post that was published. */
export async function seedPost(sql: Database, { orgId, channelId, ago, release }: PublishedPost): Promise<string> {
  const id = newId();
  const at = `${daysAgo(ago)}T12:00:00Z`;
  await sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, published_at, release_id,
      release_url)
    values (${id}, ${orgId}, ${channelId}, ${id}, 'PUBLISHED', 'x', ${at}, ${at},
      ${release === undefined ? `r-${id}` : release}, ${`https://fake.example/${id}`})`;
  return id;
}
/** Writes the totals of a post at the ends of days, by days ago. */
export async function seedCounts(
  sql: Database,
  { orgId, channelId, postId }: { orgId: string; channelId: string; postId: string },
  counts: Readonly<Record<number, Counts>>,
): Promise<void> {
  for (const [ago, some] of Object.entries(counts))
    await sql`
      insert into analytics_post_days (org_id, channel_id, post_id, date, counts)
      values (${orgId}, ${channelId}, ${postId}, ${daysAgo(Number(ago))}, ${JSON.stringify(some)}::text::jsonb)`;
}

/** Values of a channel by metric and days ago, as the rows have them. */
export async function daysOf(sql: Database, channelId: string): Promise<Record<string, Record<string, number>>> {
  const rows = await sql<{ metric: string; date: string; value: number }[]>`
    select metric, date::text as date, value from analytics_days where channel_id = ${channelId} order by metric, date`;
  return Object.fromEntries(
    [...Map.groupBy(rows, ({ metric }) => metric)].map(([metric, some]) => [
      metric,
      Object.fromEntries(some.map(({ date, value }) => [date, value])),
    ]),
  );
}
/** The facts of analytics of an organization. */
export const analyticsFacts = (sql: Database, orgId: string) =>
  sql<{ topic: string; entityId: string; payload: Record<string, unknown> }[]>`
    select topic, entity_id as "entityId", payload
    from outbox
    where org_id = ${orgId} and topic like 'analytics.%'
    order by id`;
export const gapsOf = (sql: Database, channelId: string) =>
  sql<{ date: string; reason: string }[]>`
    select date::text as date, reason from analytics_gaps where channel_id = ${channelId} order by date`;

/** The product over a network in the process of the test. `begin` empties the tables for a case, and notes what is asked. */
export async function openCollections() {
  const db = await testDatabase();
  const network = openNetwork();
  const world = await openPublishing({ url: db.url, engine: noEngine, network });
  return {
    db,
    network,
    world,
    async begin() {
      await emptyTables(db.sql, 'organizations', 'outbox', 'network_paces');
      network.declares = {};
      return numbersOf(network);
    },
    async close() {
      await world[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
    },
  };
}
