import type postgres from 'postgres';

type Sql = postgres.ISql;

/**
 * Sessions of this product whose transaction has stood still for longer than `idleMs`: those of a machine that is gone
 * without a word. The server keeps their locks until TCP gives up, by its own settings hours later, and listeners of the
 * outbox see nothing that was announced since. By the clock that the server's statistics are written with, whatever the
 * time is in the schema of a simulation.
 */
const standingStill = (sql: Sql, idleMs: number) => sql`
  from pg_stat_activity
  where datname = current_database()
    and usename = current_user
    and application_name = current_setting('application_name')
    and state like 'idle in transaction%'
    and state_change < pg_catalog.clock_timestamp() - ${idleMs}::float8 * interval '1 ms'`;

/** A condition: there are such sessions. Every role may ask. */
export const hasAbandoned = (sql: Sql, idleMs: number) => sql`exists (select ${standingStill(sql, idleMs)})`;

/** Ends such sessions. Answers how many. */
export const endAbandoned = async (sql: Sql, idleMs: number): Promise<number> =>
  (await sql`select pg_terminate_backend(pid) ${standingStill(sql, idleMs)}`).length;
