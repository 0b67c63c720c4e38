import type { Sql } from '../../platform/db/index.ts';

/**
 * Deletes at most `limit` posts that were deleted `days` ago, with their timelines; answers how many. One that counts
 * in a billing month that may still run stays, and so does one that a living post follows.
 */
export async function dropDeletedPosts(sql: Sql, days: number, limit: number): Promise<number> {
  const rows = await sql`/* all orgs */
    delete from posts
    where id in (
      select p.id
      from posts p
      where p.deleted_at < now() - make_interval(days => ${days})
        and p.created_at < now() - interval '31 days'
        and not exists (
          select
          from posts f
          where (f.parent_post_id = p.id or f.root_post_id = p.id)
            and f.deleted_at is null
        )
      order by p.deleted_at
      limit ${limit}
    )
    returning 1`;
  return rows.length;
}
