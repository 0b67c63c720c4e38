import type { Sql } from './client.ts';

/**
 * A query that ends the sessions of this product whose transaction has stood still for longer than `idleMs`, a row each:
 * those of a machine that is gone without a word. The server keeps their locks until TCP gives up, by its own settings
 * hours later, and listeners of the outbox see nothing that was announced since. By the clock that the server's
 * statistics are written with, whatever the time is in the schema of a simulation.
 */
export const abandonedEnded = (sql: Sql, idleMs: number) => sql`
  select pg_terminate_backend(pid)
  from pg_stat_activity
  where datname = current_database()
    and usename = current_user
    and application_name = current_setting('application_name')
    and state like 'idle in transaction%'
    and state_change < pg_catalog.clock_timestamp() - ${idleMs}::float8 * interval '1 ms'`;
