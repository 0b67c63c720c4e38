import type { Json, Sql } from '../../platform/db/index.ts';
import type { CallKey } from '../budget/index.ts';
import { claimedStep, type StepClaim } from './claim-store.ts';
import type { RunRef } from './contract.ts';
import { type LockedRun, lockedRun } from './store.ts';

/** What a step came to. */
export interface StepEnd {
  state: 'done' | 'failed' | 'timed_out';
  /** Absent: what it has kept. */
  output?: Json;
  error?: string;
  errorCode?: string;
  /** A cap over all providers has no room any more. */
  isBudgetUsedUp?: boolean;
  /** Its media job is looked at again, for what it makes late. */
  lateInMs?: number | undefined;
}

/**
 * Locks the run of a step and ends the step, while the claim is still this one; undefined: there is no such run.
 */
export async function endStep(
  sql: Sql,
  step: StepClaim,
  { state, output, error, errorCode, lateInMs }: StepEnd,
): Promise<(LockedRun & { isEnded: boolean }) | undefined> {
  const [row] = await sql<(LockedRun & { isEnded: boolean })[]>`
    with run as materialized (
      ${lockedRun(sql, { orgId: step.orgId, id: step.runId })}
    ), ended as (
      update run_steps s
      set state = ${state}, output = ${output === undefined ? sql`s.output` : sql.json(output)}, error = ${error ?? null},
        error_code = ${errorCode ?? null}, reservation = null, incarnation = null,
        next_at = case when has_job then now() + ${lateInMs ?? null}::float8 * interval '1 ms' end
      from run
      where s.id = ${step.id}
        and s.org_id = ${step.orgId}
        and s.run_id = run.id
        and s.claim = ${step.claim}
        and s.state = 'running'
      returning s.id
    )
    select run.*, exists (select from ended) as "isEnded"
    from run`;
  return row;
}

/** A step that is over is looked at again, or, without a time, no more. */
export async function setNextLook(sql: Sql, step: StepClaim, inMs: number | null): Promise<boolean> {
  const { count } = await sql`
    update run_steps
    set next_at = now() + ${inMs}::float8 * interval '1 ms', incarnation = null
    where ${claimedStep(sql, step)}
      and state <> 'running'`;
  return count > 0;
}

/**
 * Ends what is open of a round, whoever works on it: from now on nothing of that is written. Media jobs are looked at
 * at once, to be cancelled, also those that go on for a step of the round whose time was over. Answers the calls that
 * were under way. The run is locked by the caller.
 */
export const endOpenSteps = (
  sql: Sql,
  { orgId, id }: RunRef,
  { state, error }: { state: 'cancelled' | 'skipped'; error: string },
  { waitingOnly = false }: { waitingOnly?: boolean } = {},
) => sql<(CallKey & { name: string })[]>`
  update run_steps s
  set state = ${state}, error = ${error}, claim = s.claim + 1, incarnation = null, reservation = null,
    next_at = case when s.has_job then now() end
  from (
    select o.id, o.reservation
    from run_steps o
    where o.org_id = ${orgId}
      and o.run_id = ${id}
      and (
        o.state = 'waiting'
        or ${!waitingOnly}
          and (
            o.state = 'running'
            or o.state = 'timed_out'
              and o.has_job
              and o.next_at is not null
              and o.round = (select r.round from runs r where r.org_id = o.org_id and r.id = o.run_id)
          )
      )
    order by o.id
    for no key update
  ) o
  where s.id = o.id
  returning s.org_id as "orgId", o.reservation as ref, s.name`;
