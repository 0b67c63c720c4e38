import type { Fragment, Json, Sql } from '../../platform/db/index.ts';
import type { ClaimedStep, StepRow } from './contract.ts';

/** The process that claims. */
export interface StepClaimer {
  incarnation: string;
  leaseMs: number;
}
/** What a write of a step names: it has an effect only while the claim is still this one. */
export type StepClaim = Pick<RunStepRow, 'id' | 'orgId' | 'runId' | 'claim'>;
export interface RunStepRow extends ClaimedStep {
  claim: number;
  state: StepRow['state'];
  /** Until its deadline, or that of its round; negative: it is over. */
  leftMs: number;
  /** False: its organization is disabled or deleted, and its time is over. */
  isInUse: boolean;
  /** Of a call whose process died. */
  reservation: string | null;
  lost: number;
  /** The steps of its round when it was claimed, by name. */
  others: Readonly<Record<string, Pick<StepRow, 'state' | 'output'>>>;
}

/** Steps that are looked at for a fair choice. */
const MOST_DUE = 500;

/** The organization of the row `alias` is neither disabled nor deleted. */
const orgInUse = (sql: Sql, alias: string): Fragment => sql`exists (
        select
        from organizations o
        where o.id = ${sql(alias)}.org_id
          and o.disabled_at is null
          and o.deleted_at is null
      )`;

/**
 * Claims steps that are due, organizations in turn. One whose lease is over is due again: its process is gone. Runs are
 * locked before their steps; `isMore`: some of them somebody writes at this moment, and their steps are to be looked at
 * again at once. Steps of an organization that is disabled or deleted spend nothing: they wait until it is in use again,
 * or their time is over. Jobs of steps that have ended are looked after all the same.
 */
export async function claimDueSteps(
  sql: Sql,
  kinds: readonly string[],
  { incarnation, leaseMs }: StepClaimer,
  limit: number,
): Promise<{ steps: RunStepRow[]; isMore: boolean }> {
  const rows = await sql<((RunStepRow | { id: null }) & { isMore: boolean })[]>`
  /* all orgs */
  with due as (
    select id, run_id, org_id, row_number() over (partition by org_id order by next_at) as place
    from (
      select s.id, s.run_id, s.org_id, s.next_at
      from run_steps s
      where s.next_at <= now()
        and (
          s.state not in ('waiting', 'running')
          or ${orgInUse(sql, 's')}
          or (select least(s.deadline_at, r.deadline_at) <= now() from runs r where r.id = s.run_id)
        )
      order by s.next_at
      limit ${MOST_DUE}
    ) s
  ), chosen as (
    select *
    from due
    order by place
    limit ${limit}
  ), locked as materialized (
    select r.id, r.org_id, r.user_id, r.kind, r.input, r.deadline_at
    from runs r
    where r.id in (select run_id from chosen)
      and r.kind = any(${[...kinds]}::text[])
    order by r.id
    for no key update
    skip locked
  ), claimed as (
    update run_steps s
    set incarnation = ${incarnation}, claim = s.claim + 1, next_at = now() + ${leaseMs}::float8 * interval '1 ms',
      state = case when s.state = 'waiting' then 'running' else s.state end,
      deadline_at = coalesce(
        s.deadline_at,
        least(now() + s.deadline_ms * interval '1 ms', l.deadline_at)
      )
    from chosen c
    join locked l on l.id = c.run_id
    where s.id = c.id
      and s.next_at <= now()
    returning s.*, l.user_id, l.kind, l.input as run_input
  ), begun as (
    select c.run_id, c.name, row_number() over (partition by c.run_id order by c.place) as n,
      count(*) over (partition by c.run_id) as events
    from claimed c
    where c.state = 'running'
      and c.claim = 1
  ), counted as (
    update runs r
    set events = r.events + b.events, touched_at = now()
    from begun b
    where r.id = b.run_id
      and b.n = 1
    returning r.id, r.org_id, r.events
  ), told as (
    insert into run_events (run_id, org_id, n, kind, data)
    select r.id, r.org_id, r.events - b.events + b.n, 'step', jsonb_build_object('name', b.name, 'state', 'running')
    from counted r
    join begun b on b.run_id = r.id
  )
  select c.id, c.org_id as "orgId", c.run_id as "runId", c.user_id as "userId", c.kind, c.round, c.name, c.state,
    c.input, c.run_input as "runInput", c.claim, c.reservation, c.lost,
    (extract(epoch from c.deadline_at - now()) * 1000)::float8 as "leftMs",
    ${orgInUse(sql, 'c')} as "isInUse",
    (
      select jsonb_object_agg(o.name, jsonb_build_object('state', o.state, 'output', o.output))
      from run_steps o
      where o.org_id = c.org_id
        and o.run_id = c.run_id
        and o.round = c.round
    ) as others, m."isMore"
  from (
    select exists (
      select
      from chosen h
      join runs r on r.id = h.run_id
      where r.kind = any(${[...kinds]}::text[])
        and not exists (select from locked l where l.id = h.run_id)
    ) as "isMore"
  ) m
  left join claimed c on true`;
  return { steps: rows.filter((row) => row.id !== null), isMore: rows.some(({ isMore }) => isMore) };
}

/** Prolongs claims; answers those that this process still holds. */
export async function renewSteps(
  sql: Sql,
  { incarnation, leaseMs }: StepClaimer,
  claims: readonly StepClaim[],
): Promise<ReadonlySet<string>> {
  if (claims.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    /* all orgs */
    update run_steps s
    set next_at = now() + ${leaseMs}::float8 * interval '1 ms'
    from (
      select h.id
      from unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::int[]) as t (id, claim)
      join run_steps h
        on h.id = t.id
        and h.claim = t.claim
        and h.incarnation = ${incarnation}
      order by h.id
      for no key update of h
    ) h
    where s.id = h.id
    returning s.id`;
  return new Set(rows.map(({ id }) => id));
}

/** Ends claims at once: this process goes away, and another takes up what it leaves. */
export const abandonSteps = (sql: Sql, { incarnation }: StepClaimer, claims: readonly StepClaim[]) => sql`
  /* all orgs */
  update run_steps s
  set next_at = now(), incarnation = null
  from unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::int[]) as t (id, claim)
  where s.id = t.id
    and s.claim = t.claim
    and s.incarnation = ${incarnation}`;

/** The step of a claim, while it is still this one. */
export const claimedStep = (sql: Sql, { id, orgId, claim }: StepClaim) => sql`
  id = ${id} and org_id = ${orgId} and claim = ${claim}`;

/**
 * Locks the run of a step, and notes that a call is about to leave, or is over, with what the step has come to so far;
 * false: the claim is over, or the organization is not in use, for which no call leaves.
 */
export async function setReservation(
  sql: Sql,
  step: StepClaim,
  { ref, isLost = false, kept }: { ref: string | null; isLost?: boolean; kept?: Json | undefined },
): Promise<boolean> {
  const { count } = await sql`
    with run as materialized (
      select id
      from runs
      where org_id = ${step.orgId}
        and id = ${step.runId}
        and (${ref}::uuid is null or ${orgInUse(sql, 'runs')})
      for no key update
    )
    update run_steps s
    set reservation = ${ref}, lost = s.lost + ${isLost ? 1 : 0},
      output = ${kept === undefined ? sql`s.output` : sql.json(kept)}
    from run
    where s.id = ${step.id}
      and s.org_id = ${step.orgId}
      and s.run_id = run.id
      and s.claim = ${step.claim}
      and s.state = 'running'`;
  return count > 0;
}

/** Notes that the step has a media job, which has its id; false: the claim is over. */
export async function setJob(sql: Sql, step: StepClaim): Promise<boolean> {
  const { count } = await sql`
    update run_steps
    set has_job = true
    where ${claimedStep(sql, step)}
      and state = 'running'`;
  return count > 0;
}
