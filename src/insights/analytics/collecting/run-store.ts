import type { Fragment, Sql } from '../../../platform/db/index.ts';

// Each organization is read once a night: a run is its collection of one day.

export interface RunKey {
  orgId: string;
  day: string;
}

/** The last whole day, UTC. */
export const lastDay = (sql: Sql): Fragment => sql`((now() at time zone 'UTC')::date - 1)`;

/** The next moment after now at which an organization is read: between 00:30 and 04:30 UTC, by its id. */
function nextSlot(sql: Sql, orgId: Fragment): Fragment {
  const slot = sql`(date_trunc('day', now(), 'UTC')
      + (30 + ('x' || left(md5(${orgId}::text), 6))::bit(24)::int % 240) * interval '1 minute')`;
  return sql`case when ${slot} > now() then ${slot} else ${slot} + interval '1 day' end`;
}

/** Schedules organizations with channels that are not scheduled yet; answers how many. */
export async function addSchedules(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`/* all orgs */
    insert into analytics_schedules (org_id, next_at)
    select c.org_id, ${nextSlot(sql, sql`c.org_id`)}
    from (
      select distinct org_id
      from channels c
      where deleted_at is null
        and not exists (select from analytics_schedules s where s.org_id = c.org_id)
      limit ${limit}
    ) c
    on conflict (org_id) do nothing`;
  return count;
}

/**
 * Begins the collections that are due, each with the channels that `networks` (as `id@version`) has numbers of; answers
 * how many organizations were due.
 */
export async function openRuns(sql: Sql, networks: readonly string[], limit: number): Promise<number> {
  const [opened] = await sql<{ due: number }[]>`/* all orgs */
    with due as (
      select org_id
      from analytics_schedules
      where next_at <= now()
      order by next_at
      limit ${limit}
      for update
      skip locked
    ), scheduled as (
      update analytics_schedules s
      set next_at = ${nextSlot(sql, sql`s.org_id`)}
      from due d
      where s.org_id = d.org_id
    ), asked as (
      select c.org_id, c.id, c.refresh_needed
      from due d
      join organizations o on o.id = d.org_id and o.deleted_at is null and o.disabled_at is null
      join channels c on c.org_id = o.id and c.deleted_at is null and not c.disabled
      where c.provider_id || '@' || c.provider_version = any(${[...networks]}::text[])
    ), runs as (
      insert into analytics_runs (org_id, day)
      select distinct org_id, ${lastDay(sql)}
      from asked
      on conflict (org_id, day) do nothing
      returning org_id, day
    ), gaps as (
      insert into analytics_gaps (org_id, channel_id, date, reason)
      select a.org_id, a.id, r.day, 'The channel needs a new login'
      from runs r
      join asked a on a.org_id = r.org_id and a.refresh_needed
      on conflict (channel_id, date) do nothing
    ), collections as (
      insert into analytics_collections (org_id, day, channel_id)
      select a.org_id, r.day, a.id
      from runs r
      join asked a on a.org_id = r.org_id and not a.refresh_needed
    )
    select count(*)::int as due
    from due`;
  return opened!.due;
}

/** Whether channels of this run are left to be read. */
export async function hasChannelsLeft(sql: Sql, { orgId, day }: RunKey): Promise<boolean> {
  const [row] = await sql<{ left: boolean }[]>`
    select exists (select from analytics_collections where org_id = ${orgId} and day = ${day}::date) as left`;
  return row!.left;
}

/** Runs of which no channel is left, and that are not complete. */
export const findEndedRuns = (sql: Sql, limit: number, without: readonly RunKey[]): Promise<RunKey[]> => sql<
  RunKey[]
>`/* all orgs */
  select r.org_id as "orgId", r.day::text as day
  from analytics_runs r
  where r.completed_at is null
    and not exists (select from analytics_collections k where k.org_id = r.org_id and k.day = r.day)
    and (r.org_id, r.day) not in (
      select *
      from unnest(${without.map(({ orgId }) => orgId)}::uuid[], ${without.map(({ day }) => day)}::text[]::date[])
    )
  order by r.started_at
  limit ${limit}`;

/** Completes a run of which no channel is left, once: true for whoever did. */
export async function markComplete(sql: Sql, { orgId, day }: RunKey): Promise<boolean> {
  const { count } = await sql`
    update analytics_runs r
    set completed_at = now()
    where r.org_id = ${orgId}
      and r.day = ${day}::date
      and r.completed_at is null
      and not exists (select from analytics_collections k where k.org_id = r.org_id and k.day = r.day)`;
  return count > 0;
}
