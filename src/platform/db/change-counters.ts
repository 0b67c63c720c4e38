import type { Sql } from './client.ts';

/**
 * Answers a number that grows with every commit that changed posts, channels, files, tags, campaigns or groups of an
 * organization (H18); triggers count.
 */
export async function readChangeCounter(sql: Sql, orgId: string): Promise<string> {
  const [row] = await sql<{ changes: string }[]>`
    select coalesce(sum(changes), 0)::text as changes
    from change_counters
    where org_id = ${orgId}`;
  return row!.changes;
}

/**
 * Adds up at most `limit` rows of connections that have ended; answers how many. A row whose connection number was given
 * out again counts on: whoever writes it waits for this commit, and begins a new row.
 */
export async function foldChangeCounters(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql<{ folded: number }[]>`/* all orgs */
    with ended as (
      delete from change_counters
      where (org_id, backend) in (
        select org_id, backend
        from change_counters
        where backend <> 0
          and backend not in (select pid from pg_stat_activity)
        limit ${limit}
        for update skip locked
      )
      returning org_id, changes
    ), added as (
      insert into change_counters as c (org_id, backend, changes)
      select org_id, 0, sum(changes)
      from ended
      group by org_id
      order by org_id
      on conflict (org_id, backend) do update set changes = c.changes + excluded.changes
    )
    select count(*)::int as folded
    from ended`;
  return row!.folded;
}
