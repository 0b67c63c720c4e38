import type { Fragment, Json, Sql } from '../../platform/db/index.ts';
import type { RunRef } from './contract.ts';

/** Something that happens in a run. */
export interface NewEvent {
  kind: string;
  data: Json;
}

/**
 * Writes what open pages hear, numbered; the run is locked by the caller, or by the first statement here. `change`: what
 * else becomes of the row of the run, as `, column = value`.
 */
export async function insertEvents(
  sql: Sql,
  { orgId, id }: RunRef,
  events: readonly NewEvent[],
  change: Fragment = sql``,
): Promise<void> {
  if (events.length === 0) return;
  await sql`
    with counted as (
      update runs
      set events = events + ${events.length}::int, touched_at = now()${change}
      where org_id = ${orgId}
        and id = ${id}
      returning events
    )
    insert into run_events (run_id, org_id, n, kind, data)
    select ${id}, ${orgId}, c.events - ${events.length}::int + t.place, t.event ->> 'kind', t.event -> 'data'
    from counted c
    cross join jsonb_array_elements(${sql.json(events as unknown as Json)}::jsonb) with ordinality as t (event, place)`;
}

/** An event that is behind the place of this index. */
export interface RunEventRow {
  place: number;
  n: number;
  kind: string;
  data: Json;
  at: Date;
}

/** The events of runs behind those of the numbers `after`, at most `limit` of each place and in their order. */
export const selectEventsAfter = (sql: Sql, places: readonly { run: RunRef; after: number }[], limit: number) => sql<
  RunEventRow[]
>`/* all orgs */
  select p.place::int - 1 as place, e.n, e.kind, e.data, e.at
  from unnest(
    ${places.map(({ run }) => run.orgId)}::uuid[], ${places.map(({ run }) => run.id)}::uuid[],
    ${places.map(({ after }) => after)}::int[]
  ) with ordinality as p (org_id, run_id, after, place)
  cross join lateral (
    select n, kind, data, at
    from run_events r
    where r.org_id = p.org_id
      and r.run_id = p.run_id
      and r.n > p.after
    order by r.n
    limit ${limit}
  ) e
  order by p.place, e.n`;

/** Events of one kind of several runs, the oldest first. */
export const selectEventsOfKind = (sql: Sql, orgId: string, ids: readonly string[], kind: string) => sql<
  { runId: string; n: number; data: Json; at: Date }[]
>`
  select run_id as "runId", n, data, at
  from run_events
  where org_id = ${orgId}
    and run_id = any(${[...ids]}::uuid[])
    and kind = ${kind}
  order by run_id, n`;
