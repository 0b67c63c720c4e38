import type { Database, Sql } from '../../../../src/platform/db/index.ts';
import { eventually } from '../eventually.ts';

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

/** Waits until a session waits for a lock of this transaction, and ends it, as if the server were away for a moment. */
export async function endWaitingFor(tx: Sql, sql: Database): Promise<void> {
  const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
  // asked beside the transaction, in which the sessions stay as they were seen first
  await eventually('a session waits, and is ended', async () => {
    const { count } = await sql`
      select pg_terminate_backend(pid)
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'
        and ${own!.pid} = any(pg_blocking_pids(pid))`;
    return count > 0;
  });
}
