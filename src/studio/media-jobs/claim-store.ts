import type { Database, Fragment, Sql } from '../../platform/db/index.ts';
import { type ClaimedJob, claimedJobColumns } from './row.ts';
import { MOST_OF_ONE } from './rules.ts';

/** How many calls to a provider this process has room for. */
export interface Lane {
  providerId: string;
  free: number;
}
/** The process that claims. */
export interface Claimer {
  incarnation: string;
  leaseMs: number;
}

const lanesOf = (sql: Sql, lanes: readonly Lane[]): Fragment => sql`
    select *
    from unnest(
      ${lanes.map(({ providerId }) => providerId)}::text[],
      ${lanes.map(({ free }) => free)}::int[]
    ) as l (provider_id, free)`;

/** A claim: until `next_at`, which its process prolongs, the step belongs to that one. */
const claimed = (sql: Sql, { incarnation, leaseMs }: Claimer): Fragment => sql`
      incarnation = ${incarnation}, claim = j.claim + 1, claimed_at = now(),
      next_at = now() + ${leaseMs}::float8 * interval '1 ms', updated_at = now()`;

/**
 * Claims steps that are due, of each provider as many as there is room for, the longest due first. A step whose lease
 * is over is due again: its process is gone. `isWaiting`: there are jobs to be submitted; `isOpen`: there are jobs that
 * some step of is to come.
 */
export async function claimSteps(
  sql: Sql,
  claimer: Claimer,
  lanes: readonly Lane[],
): Promise<{ jobs: ClaimedJob[]; isWaiting: boolean; isOpen: boolean }> {
  const rows = await sql<(ClaimedJob & { isWaiting: boolean; isOpen: boolean })[]>`
    /* all orgs */
    with lanes as (${lanesOf(sql, lanes)}
    ), due as (
      select d.id
      from lanes l
      cross join lateral (
        select id
        from media_jobs
        where provider_id = l.provider_id
          and next_at <= now()
          and submitted_at is not null
        order by next_at
        limit l.free
        for no key update
        skip locked
      ) d
    ), claimed as (
      update media_jobs j
      set ${claimed(sql, claimer)}
      from due d
      where j.id = d.id
      returning ${claimedJobColumns(sql)}
    )
    select c.*, exists (
        select
        from media_jobs
        where state = 'queued' and submitted_at is null and next_at <= now()
      ) as "isWaiting",
      exists (select from media_jobs where next_at is not null and submitted_at is not null)
        or exists (select from media_jobs where state = 'queued' and submitted_at is null) as "isOpen"
    from (select 1) always
    left join claimed c on true`;
  return { jobs: rows.filter(({ id }) => id !== null), isWaiting: rows[0]!.isWaiting, isOpen: rows[0]!.isOpen };
}

/** Serializes submits over all processes, so that none passes the number of jobs that an organization may have. */
const SUBMITS = 7_513_000_075n;

/**
 * Claims jobs for their submit: fair over organizations, since whoever has the fewest at a provider goes first, and at
 * most `MOST_OF_ONE` of each organization and provider. Those of an organization that is disabled or deleted cost nobody
 * anything: they wait, as its posts do, until it is in use again or they have waited for too long.
 */
export const claimSubmits = (sql: Database, claimer: Claimer, lanes: readonly Lane[]): Promise<ClaimedJob[]> =>
  sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${String(SUBMITS)}::bigint)`; // a statement of its own: the next one sees what others did
    return tx<ClaimedJob[]>`
      /* all orgs */
      with lanes as (${lanesOf(tx, lanes)}
      ), waiting as (
        select id, org_id, provider_id,
          row_number() over (partition by org_id, provider_id order by created_at, id) as place
        from media_jobs j
        where state = 'queued'
          and submitted_at is null
          and next_at <= now()
          and exists (
            select
            from organizations o
            where o.id = j.org_id
              and o.disabled_at is null
              and o.deleted_at is null
          )
      ), held as (
        select w.org_id, w.provider_id, (
            select count(*)
            from media_jobs a
            where a.org_id = w.org_id
              and a.provider_id = w.provider_id
              and a.submitted_at is not null
              and a.ended_at is null
          ) as n
        from (select distinct org_id, provider_id from waiting) w
      ), ranked as (
        select w.id, w.provider_id,
          row_number() over (partition by w.provider_id order by w.place + h.n, w.id) as lane_place
        from waiting w
        join held h
          on h.org_id = w.org_id
          and h.provider_id = w.provider_id
        where w.place + h.n <= ${MOST_OF_ONE}
      )
      update media_jobs j
      set submitted_at = now(), attempt = j.attempt + 1, tries = 0, started_at = coalesce(j.started_at, now()),
        ${claimed(tx, claimer)}
      from ranked r
      join lanes l on l.provider_id = r.provider_id
      where j.id = r.id
        and r.lane_place <= l.free
        and j.state = 'queued'
        and j.submitted_at is null
      returning ${claimedJobColumns(tx)}`;
  });

/** What a write of a step names: it has an effect only while the claim is still this one. */
export type JobClaim = Pick<ClaimedJob, 'id' | 'orgId' | 'claim'>;

/** Prolongs claims; answers those that this process still holds. */
export async function renewClaims(
  sql: Sql,
  { incarnation, leaseMs }: Claimer,
  claims: readonly JobClaim[],
): Promise<ReadonlySet<string>> {
  if (claims.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    /* all orgs */
    update media_jobs j
    set next_at = now() + ${leaseMs}::float8 * interval '1 ms'
    from unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::int[]) as t (id, claim)
    where j.id = t.id
      and j.claim = t.claim
      and j.incarnation = ${incarnation}
    returning j.id`;
  return new Set(rows.map(({ id }) => id));
}

/** Ends claims at once: this process goes away, and another looks after what it leaves. */
export const abandonClaims = (sql: Sql, incarnation: string, claims: readonly JobClaim[]) => sql`
  /* all orgs */
  update media_jobs j
  set next_at = now(), incarnation = null
  from unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::int[]) as t (id, claim)
  where j.id = t.id
    and j.claim = t.claim
    and j.incarnation = ${incarnation}`;
