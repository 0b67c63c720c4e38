import { retentionRule, type Sql } from '../../platform/db/index.ts';

/** A deleted post `p` that may go: it counts in no billing month that still runs, and no living post follows it. */
const isForgettable = (sql: Sql, days: number) => sql`p.deleted_at < now() - make_interval(days => ${days})
        and p.created_at < now() - interval '31 days'
        and not exists (
          select
          from posts f
          where (f.parent_post_id = p.id or f.root_post_id = p.id)
            and f.deleted_at is null
        )`;
export const postsRetention = retentionRule(
  'SOFT_DELETE_RETENTION_DAYS', // RT9
  ['deleted-posts'],
  (sql, { days }) => sql`
    select p.deleted_at as at
    from posts p
    where ${isForgettable(sql, days)}`,
);

/**
 * Deletes at most `limit` posts that were deleted `days` ago, with their timelines; answers how many. One that counts
 * in a billing month that may still run stays, and so does one that a living post follows.
 */
export async function dropDeletedPosts(sql: Sql, days: number, limit: number): Promise<number> {
  const rows = await sql`/* all orgs */
    delete from posts p
    where p.id = any(array(
      select p.id
      from posts p
      where ${isForgettable(sql, days)}
      order by p.deleted_at
      limit ${limit}
      for update of p
      skip locked
    ))
      and p.deleted_at < now() - make_interval(days => ${days}) -- it may have been restored meanwhile
    returning 1`;
  return rows.length;
}
