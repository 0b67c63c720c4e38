import type { Sql } from './client.ts';

/**
 * A value: of the transactions that may still write to this database the oldest one, or the next one where none runs.
 * Numbers are those of the whole server, so a snapshot lists what runs in its other databases, however long. A
 * transaction is left out that, by the lock on its own number, runs in one of those; where that does not show, it counts.
 */
export const oldestRunning = (sql: Sql) => sql`coalesce(
  (
    select running
    from pg_snapshot_xip(pg_current_snapshot()) running
    where running::xid <> all(array( -- read where there are any
      select l.transactionid
      from pg_locks l
      join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'transactionid'
        and l.mode = 'ExclusiveLock'
        and l.granted
        and a.datname <> current_database()
    ))
    order by running
    limit 1
  ),
  pg_snapshot_xmax(pg_current_snapshot()))`;
