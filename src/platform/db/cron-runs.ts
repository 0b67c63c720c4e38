import type { Sql } from './client.ts';

/** A periodic piece of work as it last ran; nulls: it has not run yet. */
export interface CronRun {
  name: string;
  lastRunAt: Date | null;
  lastStatus: string | null;
  lastDurationMs: number | null;
  lastChanged: number | null;
}

/** Makes the names known before their first run. */
export const declareRuns = (sql: Sql, names: readonly string[]) =>
  sql`insert into cron_runs (name) select unnest(${names}::text[]) on conflict (name) do nothing`;

/** Finds jobs whose last run began longer ago than their interval, by the database's clock; never run ones first. */
export async function dueRuns(sql: Sql, wanted: readonly { name: string; everyMs: number }[]): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select w.name
    from unnest(${wanted.map(({ name }) => name)}::text[],
      ${wanted.map(({ everyMs }) => everyMs)}::float8[]) as w (name, every_ms)
    left join cron_runs r on r.name = w.name
    where r.last_run_at is null or r.last_run_at <= now() - w.every_ms * interval '1 ms'
    order by r.last_run_at nulls first, w.name`;
  return rows.map(({ name }) => name);
}

/** A run that has ended; `beganMs`: how long ago it began. */
export interface EndedRun {
  name: string;
  status: 'ok' | 'failed';
  beganMs: number;
  durationMs: number;
  changed: number;
}
/** Writes down runs that have ended, each name once. */
export const noteRuns = (sql: Sql, runs: readonly EndedRun[]) => sql`
  insert into cron_runs (name, last_run_at, last_status, last_duration_ms, last_changed)
  select name, now() - began_ms * interval '1 ms', status, duration_ms, changed
  from unnest(
    ${runs.map(({ name }) => name)}::text[],
    ${runs.map(({ beganMs }) => beganMs)}::float8[],
    ${runs.map(({ status }) => status)}::text[],
    ${runs.map(({ durationMs }) => Math.round(durationMs))}::int[],
    ${runs.map(({ changed }) => changed)}::int[]
  ) as t (name, began_ms, status, duration_ms, changed)
  on conflict (name) do update
  set last_run_at = excluded.last_run_at, last_status = excluded.last_status,
    last_duration_ms = excluded.last_duration_ms, last_changed = excluded.last_changed`;

export const listRuns = (sql: Sql) => sql<CronRun[]>`
  select name, last_run_at as "lastRunAt", last_status as "lastStatus", last_duration_ms as "lastDurationMs",
    last_changed as "lastChanged"
  from cron_runs
  order by name`;
