import type { Database } from './client.ts';

/** Connections of all processes of this service to the database, by state. */
export async function readConnections(sql: Database): Promise<Record<string, number>> {
  const rows = await sql<{ state: string; n: number }[]>`
    select coalesce(state, 'unknown') as state, count(*)::int as n
    from pg_stat_activity
    where datname = current_database()
      and application_name = 'rookery'
    group by 1`;
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
}
