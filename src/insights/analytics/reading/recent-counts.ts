import type { Sql } from '../../../platform/db/index.ts';

/**
 * The counts of posts that were collected at most so long ago, by post. A collection notes when it began, so they are
 * that old or younger.
 */
export async function recentCountsOf(
  sql: Sql,
  orgId: string,
  postIds: readonly string[],
  withinMs: number,
): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>> {
  const rows = await sql<{ postId: string; counts: Readonly<Record<string, number>> }[]>`
    select d.post_id as "postId", d.counts
    from analytics_runs r
    join analytics_post_days d on d.org_id = r.org_id and d.date = r.day
    where r.org_id = ${orgId}
      and r.started_at > now() - ${withinMs}::float8 * interval '1 ms'
      and d.post_id = any(${[...postIds]}::uuid[])
    order by r.day`;
  return new Map(rows.map(({ postId, counts }) => [postId, counts]));
}
