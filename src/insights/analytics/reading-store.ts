import type { Fragment, Sql } from '../../platform/db/index.ts';
import { published } from '../../publishing/posts/index.ts';
import type { DayRange } from './days.ts';
import { ALL_METRICS, STOCKS } from './rules.ts';

// Each answer is one statement, whatever it tells. Days that were rolled up are told as weeks, with their Monday.

/** A value of a channel; `interval` says what its date stands for. */
export interface SeriesPoint {
  metric: string;
  date: string;
  value: number;
  derived: boolean;
  interval: 'day' | 'week';
}
export interface GapRow {
  date: string;
  reason: string;
}
interface ChannelSeries {
  points: readonly SeriesPoint[];
  gaps: readonly GapRow[];
}

/** What is asked of a channel; `metric` absent: all. */
export interface SeriesQuery extends DayRange {
  metric?: string | undefined;
  interval?: 'day' | 'week' | undefined;
}

/** Values of a channel by metric and date, and its days without any; undefined: it is not there. */
export async function findChannelSeries(
  sql: Sql,
  { orgId, channelId }: { orgId: string; channelId: string },
  { from, to, metric, interval = 'day' }: SeriesQuery,
): Promise<ChannelSeries | undefined> {
  const metrics = metric === undefined ? [...ALL_METRICS] : [metric];
  const of = (date: Fragment) => sql`
    org_id = c.org_id and channel_id = c.id and metric = any(${metrics}::text[])
        and ${date} between ${from}::date and ${to}::date`;
  const points = sql`
    select metric, date, value, derived, 'day' as interval
      from analytics_days
      where ${of(sql`date`)}
      union all
      select metric, week, value, derived, 'week'
      from analytics_weeks
      where ${of(sql`week`)}`;
  const [found] = await sql<ChannelSeries[]>`
    select coalesce((
        select json_agg(json_build_object('metric', p.metric, 'date', p.date, 'value', p.value, 'derived', p.derived,
          'interval', p.interval) order by p.metric, p.date)
        from (${interval === 'day' ? points : weekly(sql, points)}) p
      ), '[]') as points, coalesce((
        select json_agg(json_build_object('date', g.date, 'reason', g.reason) order by g.date)
        from analytics_gaps g
        where g.org_id = c.org_id
          and g.channel_id = c.id
          and g.date between ${from}::date and ${to}::date
          and not exists (
            select
            from analytics_days d
            where d.org_id = c.org_id
              and d.channel_id = c.id
              and d.metric = any(${metrics}::text[])
              and d.date = g.date
          )
      ), '[]') as gaps
    from channels c
    where c.org_id = ${orgId}
      and c.id = ${channelId}
      and c.deleted_at is null`;
  return found;
}

/** Sums flows, and takes the latest of stocks. */
const valueOfDays = (sql: Sql): Fragment => sql`
  case when metric = any(${[...STOCKS]}::text[]) then (array_agg(value order by date desc))[1] else sum(value) end`;

const weekly = (sql: Sql, points: Fragment): Fragment => sql`
      select metric, date_trunc('week', date::timestamp)::date as date, ${valueOfDays(sql)} as value,
        bool_or(derived) as derived, 'week' as interval
      from (${points}) days
      group by metric, date_trunc('week', date::timestamp)`;

export interface OverviewRow {
  integrationId: string;
  /** Null: nothing is known of the channel. */
  metric: string | null;
  value: number | null;
  previous: number | null;
}

/** The values of every channel of an organization over a range, and over that before; `before` undefined: not shown. */
export const findOverview = (
  sql: Sql,
  orgId: string,
  range: DayRange,
  before: DayRange | undefined,
): Promise<OverviewRow[]> => {
  const first = before?.from ?? range.from;
  const within = ({ from, to }: DayRange) => sql`date between ${from}::date and ${to}::date`;
  const over = (some: DayRange) => sql`
      case
        when metric = any(${[...STOCKS]}::text[])
        then (array_agg(value order by date desc) filter (where ${within(some)}))[1]
        else sum(value) filter (where ${within(some)})
      end`;
  return sql<OverviewRow[]>`
    select c.id as "integrationId", s.metric, s.value, s.previous
    from channels c
    left join (
      select channel_id, metric, ${over(range)} as value, ${before ? over(before) : sql`null::float8`} as previous
      from (
        select channel_id, metric, date, value
        from analytics_days
        where org_id = ${orgId}
          and date between ${first}::date and ${range.to}::date
        union all
        select channel_id, metric, week, value
        from analytics_weeks
        where org_id = ${orgId}
          and week between ${first}::date and ${range.to}::date
      ) days
      group by channel_id, metric
    ) s on s.channel_id = c.id
    where c.org_id = ${orgId}
      and c.deleted_at is null
    order by c.created_at, c.id, s.metric`;
};

interface PostSeries {
  hasRelease: boolean;
  days: readonly { date: string; counts: Readonly<Record<string, number>> }[];
}

/** The totals of a post by day; undefined: it is not there. */
export async function findPostSeries(
  sql: Sql,
  { orgId, postId }: { orgId: string; postId: string },
  { from, to }: DayRange,
): Promise<PostSeries | undefined> {
  const [found] = await sql<PostSeries[]>`
    select coalesce(p.release_id, '') <> '' as "hasRelease", coalesce((
        select json_agg(json_build_object('date', d.date, 'counts', d.counts) order by d.date)
        from analytics_post_days d
        where d.org_id = p.org_id
          and d.post_id = p.id
          and d.date between ${from}::date and ${to}::date
      ), '[]') as days
    from posts p
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and p.deleted_at is null`;
  return found;
}

export interface CountedPostRow {
  id: string;
  integrationId: string;
  publishedAt: Date;
  releaseURL: string;
  /** Null: nothing is known of it yet. */
  date: string | null;
  counts: Readonly<Record<string, number>>;
  /** What the list is in the order of. */
  rank: number;
}
export interface PostsQuery {
  /** A metric; absent: the time of publication. */
  metric?: string | undefined;
  limit: number;
  after?: { rank: number; id: string } | undefined;
}

/** The posts of an organization that were published since then, with their latest counts, the greatest first. */
export const findCountedPosts = (
  sql: Sql,
  orgId: string,
  since: string,
  { metric, limit, after }: PostsQuery,
): Promise<CountedPostRow[]> => sql<CountedPostRow[]>`
  select *
  from (
    select p.id, p.channel_id as "integrationId", p.published_at as "publishedAt",
      coalesce(p.release_url, '') as "releaseURL", d.date::text as date, coalesce(d.counts, '{}') as counts,
      ${metric === undefined ? sql`extract(epoch from p.published_at)::float8` : sql`coalesce((d.counts ->> ${metric}::text)::float8, 0)`} as rank
    from channels c
    join posts p on p.org_id = c.org_id and p.channel_id = c.id and ${published(sql)}
    ${latestCounts(sql)}
    where c.org_id = ${orgId}
      and c.deleted_at is null
      and p.published_at >= ${since}::date::timestamp at time zone 'UTC'
  ) posts
  ${after ? sql`where (rank, id) < (${after.rank}::float8, ${after.id}::uuid)` : sql``}
  order by rank desc, id desc
  limit ${limit}`;

const latestCounts = (sql: Sql): Fragment => sql`
    left join lateral (
      select e.date, e.counts
      from analytics_post_days e
      where e.org_id = p.org_id
        and e.post_id = p.id
      order by e.date desc
      limit 1
    ) d on true`;

interface PostsOfChannel {
  timezone: string;
  posts: readonly { publishedAt: string; counts: Readonly<Record<string, number>> }[];
}
/** Posts that best times are made of, at most. */
const MOST_POSTS = 5_000;

/** The posts of a channel since then that have counts, and the zone of its organization; undefined: it is not there. */
export async function findPostsOfChannel(
  sql: Sql,
  { orgId, channelId }: { orgId: string; channelId: string },
  since: string,
): Promise<PostsOfChannel | undefined> {
  const [found] = await sql<PostsOfChannel[]>`
    select o.timezone, coalesce((
        select json_agg(json_build_object('publishedAt', s.published_at, 'counts', s.counts))
        from (
          select p.published_at, d.counts
          from posts p
          ${latestCounts(sql)}
          where p.org_id = c.org_id
            and p.channel_id = c.id
            and ${published(sql)}
            and p.published_at >= ${since}::date::timestamp at time zone 'UTC'
            and d.counts is not null
          order by p.published_at desc
          limit ${MOST_POSTS}
        ) s
      ), '[]') as posts
    from channels c
    join organizations o on o.id = c.org_id
    where c.org_id = ${orgId}
      and c.id = ${channelId}
      and c.deleted_at is null`;
  return found;
}
