import type { Fragment, Sql } from '../../platform/db/index.ts';
import { isId } from '../../platform/kernel/index.ts';

/** An account of somebody else that an organization watches (S189). */
export interface CompetitorRow {
  id: string;
  providerId: string;
  handle: string;
  /** Given by a person, else told by the network, else the handle. */
  name: string;
  picture: string | null;
  lastSnapshotAt: Date | null;
  metrics: Record<string, number>;
  /** Why the last reading failed; null after one that did not. */
  error: string | null;
}
export interface CompetitorDay {
  date: string;
  metrics: Record<string, number>;
}
/** An account that is to be read. */
export interface DueCompetitor {
  id: string;
  orgId: string;
  providerId: string;
  handle: string;
  attempts: number;
  /** The organization is in use. */
  active: boolean;
  now: Date;
}

const columns = (sql: Sql): Fragment => sql`
    id, provider_id as "providerId", handle, coalesce(name, account_name, handle) as name, picture,
    last_snapshot_at as "lastSnapshotAt", metrics, error`;

/** The competitors of an organization, the newest first; one more than `limit`, where there is one. */
export const selectCompetitors = (
  sql: Sql,
  orgId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<CompetitorRow[]> => sql<CompetitorRow[]>`
  select ${columns(sql)}
  from competitors
  where org_id = ${orgId}
    ${cursor === undefined ? sql`` : sql`and id < ${cursor}`}
  order by id desc
  limit ${limit + 1}`;

export async function findCompetitor(sql: Sql, orgId: string, id: string): Promise<CompetitorRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<CompetitorRow[]>`
    select ${columns(sql)}
    from competitors
    where org_id = ${orgId}
      and id = ${id}`;
  return row;
}

/** Undefined where the organization watches the account already. */
export async function insertCompetitor(
  sql: Sql,
  orgId: string,
  {
    id,
    providerId,
    handle,
    name,
    createdBy,
  }: { id: string; providerId: string; handle: string; name: string | null; createdBy: string },
): Promise<CompetitorRow | undefined> {
  const [row] = await sql<CompetitorRow[]>`
    insert into competitors (id, org_id, provider_id, handle, name, created_by)
    values (${id}, ${orgId}, ${providerId}, ${handle}, ${name}, ${createdBy})
    on conflict (org_id, provider_id, handle) do nothing
    returning ${columns(sql)}`;
  return row;
}

/** Null: the name that the network tells. Undefined where there is none of that id. */
export async function renameCompetitor(
  sql: Sql,
  orgId: string,
  id: string,
  name: string | null,
): Promise<CompetitorRow | undefined> {
  if (!isId(id)) return undefined;
  const [row] = await sql<CompetitorRow[]>`
    update competitors
    set name = ${name}, updated_at = now()
    where org_id = ${orgId}
      and id = ${id}
    returning ${columns(sql)}`;
  return row;
}

/** False when the organization has no such competitor. Its snapshots go with it. */
export async function deleteCompetitor(sql: Sql, orgId: string, id: string): Promise<boolean> {
  if (!isId(id)) return false;
  const { count } = await sql`
    delete from competitors
    where org_id = ${orgId}
      and id = ${id}`;
  return count > 0;
}

/** What was told of a competitor by day, oldest first. */
export const selectDays = (
  sql: Sql,
  orgId: string,
  id: string,
  { from, to }: { from: string; to: string },
): Promise<CompetitorDay[]> => sql<CompetitorDay[]>`
  select day::text as date, metrics
  from competitor_snapshots
  where org_id = ${orgId}
    and competitor_id = ${id}
    and day between ${from}::date and ${to}::date
  order by day`;

/** A connected channel of a network, whose login may ask it. */
export async function findUsableChannel(sql: Sql, orgId: string, providerId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id
    from channels
    where org_id = ${orgId}
      and provider_id = ${providerId}
      and not disabled
      and not refresh_needed
      and deleted_at is null
    order by id
    limit 1`;
  return row?.id;
}

/** Claims accounts that are due for ten minutes, in which nobody else reads them. */
export const claimDueCompetitors = (sql: Sql, limit: number): Promise<DueCompetitor[]> => sql<
  DueCompetitor[]
>`/* all orgs */
  with due as (
    select id
    from competitors
    where next_read_at <= now()
    order by next_read_at
    limit ${limit}
    for no key update
    skip locked
  )
  update competitors c
  set next_read_at = now() + interval '10 minutes'
  from due d, organizations o
  where c.id = d.id
    and o.id = c.org_id
  returning c.id, c.org_id as "orgId", c.provider_id as "providerId", c.handle, c.attempts,
    o.deleted_at is null and o.disabled_at is null as active, now() as now`;

/** Writes what was read, as the account is now and as the snapshot of today. */
export const insertCompetitorDay = (
  sql: Sql,
  { id, orgId }: Pick<DueCompetitor, 'id' | 'orgId'>,
  {
    name,
    picture,
    metrics,
    at,
  }: { name: string | null; picture: string | null; metrics: Record<string, number>; at: Date },
) => sql`
  with told as (
    update competitors
    set account_name = ${name}, picture = ${picture}, metrics = ${JSON.stringify(metrics)}::text::jsonb,
      last_snapshot_at = now(), next_read_at = ${at}, attempts = 0, error = null, updated_at = now()
    where org_id = ${orgId}
      and id = ${id}
    returning id, org_id, metrics
  )
  insert into competitor_snapshots (competitor_id, day, org_id, metrics)
  select id, (now() at time zone 'UTC')::date, org_id, metrics
  from told
  on conflict (competitor_id, day) do update set metrics = excluded.metrics`;

/** Plans the next reading without a snapshot; `error`: why there is none. */
export const postponeReading = (
  sql: Sql,
  { id, orgId }: Pick<DueCompetitor, 'id' | 'orgId'>,
  { at, attempts, error }: { at: Date; attempts: number; error: string | null },
) => sql`
  update competitors
  set next_read_at = ${at}, attempts = ${attempts}, error = ${error}, updated_at = now()
  where org_id = ${orgId}
    and id = ${id}`;

/** Deletes at most `limit` snapshots that are older than `days`; answers how many. */
export async function deleteOldDays(sql: Sql, days: number, limit: number): Promise<number> {
  const { count } = await sql`/* all orgs */
    delete from competitor_snapshots
    where ctid in (
      select ctid
      from competitor_snapshots
      where day < (now() at time zone 'UTC')::date - ${days}::int
      order by day
      limit ${limit}
      for update
      skip locked
    )`;
  return count;
}
