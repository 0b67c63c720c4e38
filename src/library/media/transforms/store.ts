import { oldRows, type Sql } from '../../../platform/db/index.ts';
import { isId } from '../../../platform/kernel/index.ts';
import type { Transform } from './rules.ts';

/** A change of a file, as people see it. */
export interface TransformRow {
  id: string;
  orgId: string;
  userId: string | null;
  sourceId: string;
  operation: Transform['operation'];
  state: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  fileId: string | null;
  errorCode: string | null;
  error: string | null;
  createdAt: Date;
  endedAt: Date | null;
}
/** One that this process has claimed. */
export type ClaimedTransform = Pick<TransformRow, 'id' | 'orgId' | 'userId' | 'sourceId'> & {
  wish: Transform;
  attempt: number;
  claim: number;
};
type Claim = Pick<ClaimedTransform, 'id' | 'orgId' | 'claim'>;
/** The process that claims. */
export interface TransformClaimer {
  incarnation: string;
  leaseMs: number;
}

const columns = (sql: Sql) => sql`
  t.id, t.org_id as "orgId", t.user_id as "userId", t.source_id as "sourceId", t.operation, t.state,
  t.file_id as "fileId", t.error_code as "errorCode", t.error, t.created_at as "createdAt", t.ended_at as "endedAt"`;

export async function insertTransform(
  sql: Sql,
  {
    wish: { operation, params },
    ...row
  }: Pick<TransformRow, 'id' | 'orgId' | 'userId' | 'sourceId'> & { wish: Transform },
): Promise<TransformRow> {
  const [inserted] = await sql<TransformRow[]>`
    insert into media_transforms as t (id, org_id, user_id, source_id, operation, params)
    values (${row.id}, ${row.orgId}, ${row.userId}, ${row.sourceId}, ${operation}, ${sql.json(params)})
    returning ${columns(sql)}`;
  return inserted!;
}

export async function findTransform(sql: Sql, orgId: string, id: string): Promise<TransformRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<TransformRow[]>`
    select ${columns(sql)}
    from media_transforms t
    where t.org_id = ${orgId} and t.id = ${id}`;
  return row;
}

/** How many of an organization have not ended; nobody else adds one until the transaction ends. */
export async function countOpenTransforms(sql: Sql, orgId: string): Promise<number> {
  await sql`select from organizations where id = ${orgId} for no key update`;
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n
    from media_transforms
    where org_id = ${orgId} and ended_at is null`;
  return row!.n;
}

/** Claims the oldest of each organization that has none under way, whoever has waited longest first. */
export const claimTransforms = (sql: Sql, { incarnation, leaseMs }: TransformClaimer, limit: number) =>
  sql<ClaimedTransform[]>`
    /* all orgs */
    with oldest as (
      select distinct on (w.org_id) w.id, w.next_at
      from media_transforms w
      where w.ended_at is null
        and w.next_at <= now()
        and not exists (
          select
          from media_transforms h
          where h.org_id = w.org_id and h.ended_at is null and h.next_at > now() and h.incarnation is not null
        )
      order by w.org_id, w.next_at
    ), due as (
      select d.id
      from oldest o
      join media_transforms d on d.id = o.id
      where d.ended_at is null and d.next_at <= now()
      order by o.next_at
      limit ${limit}
      for no key update of d
      skip locked
    )
    update media_transforms t
    set state = 'running', incarnation = ${incarnation}, claim = t.claim + 1, attempt = t.attempt + 1,
      next_at = now() + ${leaseMs}::float8 * interval '1 ms', updated_at = now()
    from due
    where t.id = due.id
    returning t.id, t.org_id as "orgId", t.user_id as "userId", t.source_id as "sourceId",
      jsonb_build_object('operation', t.operation, 'params', t.params) as wish, t.attempt, t.claim`;

/** Prolongs claims; answers those that this process still holds. */
export async function renewTransforms(
  sql: Sql,
  { incarnation, leaseMs }: TransformClaimer,
  claims: readonly Claim[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }[]>`
    /* all orgs */
    update media_transforms t
    set next_at = now() + ${leaseMs}::float8 * interval '1 ms'
    from unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::int[]) as c (id, claim)
    where t.id = c.id
      and t.claim = c.claim
      and t.incarnation = ${incarnation}
      and t.ended_at is null
    returning t.id`;
  return new Set(rows.map(({ id }) => id));
}

/** Hands claims back at once, as if they had not been made: this process goes away. */
export const handTransformsBack = (sql: Sql, incarnation: string, claims: readonly Claim[]) => sql`
  /* all orgs */
  update media_transforms t
  set state = 'queued', next_at = now(), incarnation = null, claim = t.claim + 1, attempt = t.attempt - 1
  from unnest(${claims.map(({ id }) => id)}::uuid[], ${claims.map(({ claim }) => claim)}::int[]) as c (id, claim)
  where t.id = c.id
    and t.claim = c.claim
    and t.incarnation = ${incarnation}
    and t.ended_at is null`;

const held = (sql: Sql, { id, orgId, claim }: Claim) => sql`
  t.id = ${id} and t.org_id = ${orgId} and t.claim = ${claim} and t.ended_at is null`;

/** Tries again after `inMs`. */
export const repeatTransform = (sql: Sql, job: Claim, inMs: number) => sql`
  update media_transforms t
  set state = 'queued', incarnation = null, next_at = now() + ${inMs}::float8 * interval '1 ms', updated_at = now()
  where ${held(sql, job)}`;

export type TransformEnd =
  | { state: 'done'; fileId: string }
  | { state: 'failed'; errorCode: string; error: string }
  | { state: 'cancelled'; error: string };

/** Ends a job: that of a claim, or whatever has not ended. Undefined: it had ended, or is somebody else's. */
export async function endTransform(
  sql: Sql,
  job: Claim | Pick<TransformRow, 'id' | 'orgId'>,
  end: TransformEnd,
): Promise<TransformRow | undefined> {
  const isIt =
    'claim' in job ? held(sql, job) : sql`t.id = ${job.id} and t.org_id = ${job.orgId} and t.ended_at is null`;
  const [row] = await sql<TransformRow[]>`
    update media_transforms t
    set state = ${end.state}, file_id = ${end.state === 'done' ? end.fileId : null},
      error_code = ${end.state === 'failed' ? end.errorCode : null},
      error = ${end.state === 'done' ? null : end.error},
      incarnation = null, next_at = null, ended_at = now(), updated_at = now()
    where ${isIt}
    returning ${columns(sql)}`;
  return row;
}

/** Jobs that are forgotten by their age, for the rule of media jobs; the files that they made stay. */
export const oldTransforms = oldRows('media_transforms', 'ended_at');
