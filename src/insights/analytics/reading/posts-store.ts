import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { published } from '../../../publishing/posts/index.ts';
import type { DayRange } from '../days.ts';

// What is kept of posts, each answer in one statement.

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
