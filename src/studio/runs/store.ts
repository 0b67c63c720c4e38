import type { Fragment, Json, Sql } from '../../platform/db/index.ts';
import { isId, newId } from '../../platform/kernel/index.ts';
import type { NewRun, NewStep, RunKey, RunRow, StepRow } from './contract.ts';
import { unfold } from './rules.ts';

// Lock order: a run, then its steps. Whoever writes a step has locked its run.

export const runColumns = (sql: Sql): Fragment => sql`
  r.id, r.org_id as "orgId", r.user_id as "userId", r.kind, r.state, r.is_active as "isActive", r.round, r.input,
  r.output, r.error, r.created_at as "createdAt", r.touched_at as "touchedAt"`;
const stepColumns = (sql: Sql): Fragment => sql`
  s.id, s.round, s.name, s.state, s.input, s.output, s.error, s.error_code as "errorCode"`;

export async function findRun(sql: Sql, { orgId, id }: RunKey, kind?: string): Promise<RunRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<RunRow[]>`
    select ${runColumns(sql)}
    from runs r
    where r.org_id = ${orgId}
      and r.id = ${id}
      ${kind === undefined ? sql`` : sql`and r.kind = ${kind}`}`;
  return row;
}

/** Runs of a kind, the newest first; one more than `limit`, where there is one. */
export const selectRuns = (
  sql: Sql,
  orgId: string,
  { kind, limit, cursor }: { kind: string; limit: number; cursor?: string | undefined },
): Promise<RunRow[]> => sql<RunRow[]>`
  select ${runColumns(sql)}
  from runs r
  where r.org_id = ${orgId}
    and r.kind = ${kind}
    ${cursor === undefined ? sql`` : sql`and r.id < ${cursor}`}
  order by r.id desc
  limit ${limit + 1}`;

/** The steps of all rounds, in their order. */
export const selectSteps = (sql: Sql, { orgId, id }: RunKey): Promise<StepRow[]> => sql<StepRow[]>`
  select ${stepColumns(sql)}
  from run_steps s
  where s.org_id = ${orgId}
    and s.run_id = ${id}
  order by s.round, s.place`;

export async function lockRun(sql: Sql, { orgId, id }: RunKey): Promise<RunRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<RunRow[]>`
    select ${runColumns(sql)}
    from runs r
    where r.org_id = ${orgId}
      and r.id = ${id}
    for no key update`;
  return row;
}

export async function insertRun(sql: Sql, { id, orgId, userId, kind, state, input, deadlineMs }: NewRun) {
  await sql`
    insert into runs (id, org_id, user_id, kind, state, is_active, input, deadline_at)
    values (${id}, ${orgId}, ${userId}, ${kind}, ${state}, true, ${sql.json(input)},
      now() + ${deadlineMs ?? null}::float8 * interval '1 ms')`;
}

/** Begins the next round of a run that is in one of these states; undefined: it is in another. */
export async function updateRound(
  sql: Sql,
  { orgId, id }: RunKey,
  { from, state, deadlineMs }: { from: readonly string[]; state: string; deadlineMs?: number | undefined },
): Promise<RunRow | undefined> {
  const [row] = await sql<RunRow[]>`
    update runs r
    set state = ${state}, is_active = true, round = round + 1, error = null, touched_at = now(),
      deadline_at = now() + ${deadlineMs ?? null}::float8 * interval '1 ms'
    where r.org_id = ${orgId}
      and r.id = ${id}
      and r.state = any(${[...from]}::text[])
      and not r.is_active
    returning ${runColumns(sql)}`;
  return row;
}

/** Ends a round, or changes the state of a run without one; its steps are the caller's concern. */
export async function updateRun(
  sql: Sql,
  { orgId, id }: RunKey,
  { state, output, error }: { state: string; output?: Json | undefined; error?: string | null | undefined },
): Promise<void> {
  await sql`
    update runs
    set state = ${state}, is_active = false, touched_at = now(), error = ${error ?? null},
      output = ${output === undefined ? sql`output` : sql.json(output)}
    where org_id = ${orgId}
      and id = ${id}`;
}

export async function insertSteps(sql: Sql, { orgId, id }: RunKey, round: number, steps: readonly NewStep[]) {
  await sql`
    insert into run_steps ${sql(
      steps.map(({ name, input = null, after = [], anyway = false, deadlineMs }, place) => ({
        id: newId(),
        run_id: id,
        org_id: orgId,
        round,
        place,
        name,
        input: sql.json(input),
        after: [...after],
        anyway,
        deadline_ms: deadlineMs,
      })),
    )}`;
}

/**
 * Makes steps of the round due whose turn has come, and skips those that it never will; answers the names of the
 * skipped, and whether any step is still open. The run is locked by the caller.
 */
export async function advanceRound(
  sql: Sql,
  { orgId, id }: RunKey,
  round: number,
): Promise<{ skipped: string[]; isOpen: boolean }> {
  const steps = await sql<(StepRow & { after: string[]; anyway: boolean })[]>`
    select ${stepColumns(sql)}, s.after, s.anyway
    from run_steps s
    where s.org_id = ${orgId}
      and s.run_id = ${id}
      and s.round = ${round}
    order by s.place`;
  const { ready, skipped } = unfold(steps);
  await sql`
    update run_steps
    set state = case when name = any(${skipped}::text[]) then 'skipped' else state end,
      error = case when name = any(${skipped}::text[]) then 'A step before it was not done' else error end,
      next_at = case when name = any(${ready}::text[]) then coalesce(next_at, now()) end
    where org_id = ${orgId}
      and run_id = ${id}
      and round = ${round}
      and state = 'waiting'
      and name = any(${[...ready, ...skipped]}::text[])`;
  const open = steps.filter(({ state }) => state === 'waiting' || state === 'running').length - skipped.length;
  return { skipped, isOpen: open > 0 };
}

/** Writes what open pages hear, numbered; the run is locked by the caller, or by the first statement here. */
export async function insertEvents(
  sql: Sql,
  { orgId, id }: RunKey,
  events: readonly { kind: string; data: Json }[],
): Promise<void> {
  if (events.length === 0) return;
  await sql`
    with counted as (
      update runs
      set events = events + ${events.length}::int, touched_at = now()
      where org_id = ${orgId}
        and id = ${id}
      returning events
    )
    insert into run_events (run_id, org_id, n, kind, data)
    select ${id}, ${orgId}, c.events - ${events.length}::int + t.place, t.event ->> 'kind', t.event -> 'data'
    from counted c
    cross join jsonb_array_elements(${sql.json(events as unknown as Json)}::jsonb) with ordinality as t (event, place)`;
}

export const selectEvents = (sql: Sql, { orgId, id }: RunKey, after: number, limit: number) => sql<
  { n: number; kind: string; data: Json; at: Date }[]
>`
  select n, kind, data, at
  from run_events
  where org_id = ${orgId}
    and run_id = ${id}
    and n > ${after}
  order by n
  limit ${limit}`;
