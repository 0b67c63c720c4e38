import type { Fragment, Json, Sql } from '../../platform/db/index.ts';
import { isId, newId } from '../../platform/kernel/index.ts';
import type { NewRun, NewStep, RoundEnd, RunRef, RunRow, StepRow } from './contract.ts';

// Lock order: a run, then its steps, then what is spent. Whoever writes a step has locked its run.

const runColumns = (sql: Sql): Fragment => sql`
  r.id, r.org_id as "orgId", r.user_id as "userId", r.kind, r.state, r.is_active as "isActive", r.round, r.input,
  r.output, r.error, r.created_at as "createdAt", r.touched_at as "touchedAt"`;
const stepColumns = (sql: Sql): Fragment => sql`
  s.id, s.round, s.name, s.state, s.input, s.output, s.error, s.error_code as "errorCode"`;

export async function findRun(sql: Sql, { orgId, id }: RunRef, kind?: string): Promise<RunRow | undefined> {
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

/** The steps of all rounds of runs, in their order. */
export const selectSteps = (sql: Sql, orgId: string, ids: readonly string[]) => sql<(StepRow & { runId: string })[]>`
  select ${stepColumns(sql)}, s.run_id as "runId"
  from run_steps s
  where s.org_id = ${orgId}
    and s.run_id = any(${[...ids]}::uuid[])
  order by s.run_id, s.round, s.place`;

/** What a step of this name is, in a round. */
export async function findStep(
  sql: Sql,
  { orgId, id }: RunRef,
  { round, name }: Pick<StepRow, 'round' | 'name'>,
): Promise<StepRow | undefined> {
  const [row] = await sql<StepRow[]>`
    select ${stepColumns(sql)}
    from run_steps s
    where s.org_id = ${orgId}
      and s.run_id = ${id}
      and s.round = ${round}
      and s.name = ${name}`;
  return row;
}

export type LockedRun = RunRow & { untouchedMinutes: number };
/** The statement that locks a run until the commit, with how long nobody has touched it. */
export const lockedRun = (sql: Sql, { orgId, id }: RunRef): Fragment => sql`
  select ${runColumns(sql)}, extract(epoch from now() - r.touched_at)::float8 / 60 as "untouchedMinutes"
  from runs r
  where r.org_id = ${orgId}
    and r.id = ${id}
  for no key update`;

export async function lockRun(sql: Sql, key: RunRef): Promise<LockedRun | undefined> {
  if (!isId(key.id)) return undefined;
  const [row] = await sql<LockedRun[]>`${lockedRun(sql, key)}`;
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
  { orgId, id }: RunRef,
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

/** What `insertEvents` changes beside: how a round has ended, or the state of a run without one. */
export const endOfRound = (sql: Sql, { state, output, error }: RoundEnd): Fragment => sql`,
  state = ${state}, is_active = false, error = ${error ?? null},
  output = ${output === undefined ? sql`output` : sql.json(output)}`;

export async function insertSteps(sql: Sql, { orgId, id }: RunRef, round: number, steps: readonly NewStep[]) {
  await sql`
    insert into run_steps ${sql(
      steps.map(({ name, input = {}, after = [], anyway = false, deadlineMs }, place) => ({
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

/** A step with what decides when its turn comes. */
export type OrderedStep = StepRow & { after: string[]; anyway: boolean };

/** The steps of a round in their order. */
export const selectRound = async (sql: Sql, { orgId, id }: RunRef, round: number): Promise<OrderedStep[]> => sql<
  OrderedStep[]
>`
  select ${stepColumns(sql)}, s.after, s.anyway
  from run_steps s
  where s.org_id = ${orgId}
    and s.run_id = ${id}
    and s.round = ${round}
  order by s.place`;

const SKIPPED = 'A step before it was not done';

/** Steps of a round as they are once others were skipped. */
export const withSkipped = (steps: readonly OrderedStep[], skipped: readonly string[]): OrderedStep[] =>
  steps.map((step) => (skipped.includes(step.name) ? { ...step, state: 'skipped', error: SKIPPED } : step));

/** Makes steps due whose turn has come, and skips those that never get one. The run is locked by the caller. */
export async function updateWaiting(
  sql: Sql,
  { orgId, id }: RunRef,
  round: number,
  { ready, skipped }: { ready: readonly string[]; skipped: readonly string[] },
): Promise<void> {
  if (ready.length + skipped.length === 0) return;
  await sql`
    update run_steps
    set state = case when name = any(${[...skipped]}::text[]) then 'skipped' else state end,
      error = case when name = any(${[...skipped]}::text[]) then ${SKIPPED} else error end,
      next_at = case when name = any(${[...ready]}::text[]) then coalesce(next_at, now()) end
    where org_id = ${orgId}
      and run_id = ${id}
      and round = ${round}
      and state = 'waiting'
      and name = any(${[...ready, ...skipped]}::text[])`;
}

export const setOutputOfStep = (sql: Sql, { orgId, id }: RunRef, output: Json) => sql`
  update run_steps
  set output = ${sql.json(output)}
  where org_id = ${orgId}
    and id = ${id}`;

/** Something goes on in a run of which there is nothing to tell. */
export const touchRun = (sql: Sql, { orgId, id }: RunRef) => sql`
  update runs
  set touched_at = now()
  where org_id = ${orgId}
    and id = ${id}
    and is_active`;

/** Runs in these states that nobody has touched for so long, the longest untouched first. */
export const findUntouched = (
  sql: Sql,
  {
    kind,
    states,
    minutes,
    limit,
    without,
  }: { kind: string; states: readonly string[]; minutes: number; limit: number; without: readonly RunRef[] },
) => sql<RunRow[]>`
  /* all orgs */
  select ${runColumns(sql)}
  from runs r
  where r.kind = ${kind}
    and r.state = any(${[...states]}::text[])
    and (r.touched_at < now() - ${minutes}::float8 * interval '1 minute' or not r.is_active)
    and r.id <> all(${without.map(({ id }) => id)}::uuid[])
  order by r.touched_at
  limit ${limit}`;

/** The media jobs of a run that may still go on. */
export const jobsOfRun = async (sql: Sql, { orgId, id }: RunRef): Promise<string[]> =>
  (
    await sql<{ id: string }[]>`
      select id
      from run_steps
      where org_id = ${orgId}
        and run_id = ${id}
        and has_job
        and next_at is not null`
  ).map((row) => row.id);

/** Deletes a run; false where it is under way, or gone. */
export async function deleteRun(sql: Sql, { orgId, id }: RunRef): Promise<boolean> {
  const { count } = await sql`
    delete from runs
    where org_id = ${orgId}
      and id = ${id}
      and not is_active`;
  return count > 0;
}
