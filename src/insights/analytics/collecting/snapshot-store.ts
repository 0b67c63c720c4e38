import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { published } from '../../../publishing/posts/index.ts';
import type { Point } from '../rules.ts';

export interface CollectionKey {
  orgId: string;
  day: string;
  channelId: string;
}
type ChannelKey = Pick<CollectionKey, 'orgId' | 'channelId'>;

/**
 * Writes values of days, over what was there: networks correct their numbers. A day whose week was rolled up is left as
 * it is, and what was derived never replaces what the network told.
 */
export const upsertDays = (sql: Sql, { orgId, channelId }: ChannelKey, points: readonly Point[]) => sql`
  insert into analytics_days as d (org_id, channel_id, metric, date, value)
  select ${orgId}::uuid, ${channelId}::uuid, t.metric, t.date, t.value
  from unnest(
    ${points.map(({ metric }) => metric)}::text[], ${points.map(({ date }) => date)}::text[]::date[],
    ${points.map(({ value }) => value)}::float8[]
  ) as t (metric, date, value)
  where ${isOpen(sql, { channelId, date: sql`t.date` })}
  on conflict (channel_id, metric, date) do update
  set value = excluded.value, derived = false
  where d.value <> excluded.value
    or d.derived`;

/** The week of a day was not rolled up. */
const isOpen = (sql: Sql, { channelId, date }: { channelId: string | Fragment; date: Fragment }): Fragment => sql`
  not exists (
    select
    from analytics_weeks w
    where w.channel_id = ${channelId}
      and w.week = date_trunc('week', ${date}::timestamp)::date
  )`;

/** A published post, as its network knows it. */
export interface ReleasedPost {
  id: string;
  release: { id: string; url: string; saved?: unknown };
}

/**
 * The posts of a channel that were published on a day and those before it, the newest first: those without counts of
 * that day before the others, so that a retry goes on where a try ended.
 */
export const findReleasedPosts = (
  sql: Sql,
  { orgId, channelId, day }: CollectionKey,
  { daysBack, limit }: { daysBack: number; limit: number },
): Promise<ReleasedPost[]> => sql<ReleasedPost[]>`
  select p.id, jsonb_strip_nulls(jsonb_build_object('id', p.release_id, 'url', coalesce(p.release_url, ''),
    'saved', p.released)) as release
  from posts p
  where p.org_id = ${orgId}
    and p.channel_id = ${channelId}
    and ${published(sql)}
    and p.published_at >= (${day}::date - ${daysBack - 1}::int)::timestamp at time zone 'UTC'
    and p.published_at < (${day}::date + 1)::timestamp at time zone 'UTC'
    and p.release_id <> ''
  order by exists (
      select
      from analytics_post_days d
      where d.post_id = p.id
        and d.date = ${day}::date
    ), p.published_at desc
  limit ${limit}`;

export interface CountedPost {
  id: string;
  counts: Readonly<Record<string, number>>;
}

/** Writes the totals of posts at the end of a day, over what was there. */
export const upsertPostDays = (
  sql: Sql,
  { orgId, channelId, day }: CollectionKey,
  posts: readonly CountedPost[],
) => sql`
  insert into analytics_post_days as d (org_id, channel_id, post_id, date, counts)
  select ${orgId}::uuid, ${channelId}::uuid, t.post_id, ${day}::date, t.counts
  from unnest(
    ${posts.map(({ id }) => id)}::uuid[], ${posts.map(({ counts }) => JSON.stringify(counts))}::text[]::jsonb[]
  ) as t (post_id, counts)
  join posts p on p.id = t.post_id and p.org_id = ${orgId} -- else it was deleted meanwhile
  on conflict (post_id, date) do update
  set counts = d.counts || excluded.counts`;

/**
 * How much a metric of a post, row `n`, grew since the snapshot before it, row `b`: never less than nothing, and
 * nothing where the network began to tell the metric. Without an earlier snapshot it is all that the post has.
 */
export const growthOf = (sql: Sql, metric: Fragment): Fragment => sql`
  greatest(0, case
    when b.counts is null then (n.counts ->> ${metric})::float8
    when b.counts ? ${metric} then (n.counts ->> ${metric})::float8 - (b.counts ->> ${metric})::float8
    else 0
  end)`;

/** Joins the snapshot before that of the row `n` as `b`. */
export const joinBefore = (sql: Sql): Fragment => sql`
  left join lateral (
    select e.counts
    from analytics_post_days e
    where e.post_id = n.post_id
      and e.date < n.date
    order by e.date desc
    limit 1
  ) b on true`;

/**
 * The growth of row `n` is of its day: there was a snapshot before, or the post, row `p`, is younger than the last
 * snapshot of its channel. An old post that is seen first has not made all its numbers in one day.
 */
export const isGrowthOfDay = (sql: Sql): Fragment => sql`
  (b.counts is not null or p.published_at >= coalesce((
    select max(e.date) + 1
    from analytics_post_days e
    where e.channel_id = n.channel_id
      and e.date < n.date
  ), n.date)::timestamp at time zone 'UTC')`;

/**
 * Writes the flows of a channel that its network does not tell by day: what its posts gained. The end of a statement
 * with `ended`: the channel and its day.
 */
export const deriveDays = (sql: Sql, metrics: readonly string[]): Fragment => sql`
  insert into analytics_days as d (org_id, channel_id, metric, date, value, derived)
  select n.org_id, n.channel_id, m.metric, n.date, sum(${growthOf(sql, sql`m.metric`)}), true
  from ended
  join analytics_post_days n on n.org_id = ended.org_id and n.channel_id = ended.channel_id and n.date = ended.day
  join posts p on p.id = n.post_id and p.org_id = n.org_id
  ${joinBefore(sql)}
  cross join unnest(${[...metrics]}::text[]) as m (metric)
  where n.counts ? m.metric
    and ${isGrowthOfDay(sql)}
    and ${isOpen(sql, { channelId: sql`n.channel_id`, date: sql`n.date` })}
  group by n.org_id, n.channel_id, m.metric, n.date
  on conflict (channel_id, metric, date) do update
  set value = excluded.value
  where d.derived
    and d.value <> excluded.value`;
