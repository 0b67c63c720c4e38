import type { Database } from '../../../src/platform/db/index.ts';

/** Counts the sessions of the database that wait for a lock; `statement`: with one that this expression matches. */
export async function waitingOnLock(sql: Database, statement = ''): Promise<number> {
  const { count } = await sql`
    select
    from pg_stat_activity
    where datname = current_database()
      and wait_event_type = 'Lock'
      and query ~ ${statement}`;
  return count;
}
