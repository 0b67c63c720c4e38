import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { type ChannelSnapshot, snapshot } from '../../../publishing/posts/index.ts';
import { type CollectionKey, deriveDays } from './snapshot-store.ts';

// Each organization is read once a night. A run is its collection of one day; a row of `analytics_collections` is a
// channel that is left of it, so that whoever goes on after a crash asks only those.

/** How long a claimed channel is left to whoever claimed it. */
export const COLLECTION_CLAIM_MS = 10 * 60_000;
const LONGEST_WAIT_MS = 3_600_000;

/** The last whole day, UTC. */
const lastDay = (sql: Sql): Fragment => sql`((now() at time zone 'UTC')::date - 1)`;

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

/** A channel that was claimed to be read. */
export interface Collection extends CollectionKey {
  claim: string;
  /** How often it could not be read this time. */
  failures: number;
  /** Null: the channel is deleted or disabled, and needs not be read. */
  channel: ChannelSnapshot | null;
  needsLogin: boolean;
}

/** Claims channels of the last whole day that are due. */
export async function claimCollections(sql: Sql, claim: string, limit: number): Promise<Collection[]> {
  type Row = Omit<Collection, 'channel'> & {
    channel: (Omit<ChannelSnapshot, 'tokenExpiresAt'> & { tokenExpiresAt: string | null }) | null;
  };
  const rows = await sql<Row[]>`/* all orgs */
    with due as (
      select org_id, day, channel_id
      from analytics_collections
      where due_at <= now()
        and day = ${lastDay(sql)}
      order by due_at
      limit ${limit}
      for update
      skip locked
    ), claimed as (
      update analytics_collections k
      set claim = ${claim}, due_at = now() + ${COLLECTION_CLAIM_MS}::float8 * interval '1 ms'
      from due d
      where k.org_id = d.org_id
        and k.day = d.day
        and k.channel_id = d.channel_id
      returning k.*
    )
    select k.org_id as "orgId", k.day::text as day, k.channel_id as "channelId", k.claim, k.failures,
      coalesce(c.refresh_needed, false) as "needsLogin", case when c.id is not null then ${snapshot(sql)} end as channel
    from claimed k
    left join channels c on c.id = k.channel_id and c.org_id = k.org_id and c.deleted_at is null and not c.disabled`;
  return rows.map((row) => ({
    ...row,
    channel: row.channel && {
      ...row.channel,
      tokenExpiresAt: row.channel.tokenExpiresAt === null ? null : new Date(row.channel.tokenExpiresAt),
    },
  }));
}

const claimed = (sql: Sql, { orgId, day, channelId, claim }: CollectionKey & Pick<Collection, 'claim'>): Fragment =>
  sql`org_id = ${orgId} and day = ${day}::date and channel_id = ${channelId} and claim = ${claim}`;

/**
 * Ends a channel for this day, where the claim is still ours, and derives `flows` from what its posts gained. `reason`:
 * it could not be read, and the day is a gap.
 */
export async function endCollection(
  sql: Sql,
  collection: Collection,
  { flows, reason }: { flows: readonly string[]; reason?: string | undefined },
): Promise<void> {
  const gap = sql`, gap as (
      insert into analytics_gaps (org_id, channel_id, date, reason)
      select org_id, channel_id, day, ${reason ?? ''}::text
      from ended
      on conflict (channel_id, date) do update
      set reason = excluded.reason
    )`;
  await sql`
    with ended as (
      delete from analytics_collections
      where ${claimed(sql, collection)}
      returning org_id, channel_id, day
    )${reason === undefined ? sql`` : gap}
    ${flows.length === 0 ? sql`select from ended` : deriveDays(sql, flows)}`;
}

/** Whether channels of this run are left to be read. */
export async function hasChannelsLeft(sql: Sql, { orgId, day }: RunKey): Promise<boolean> {
  const [row] = await sql<{ left: boolean }[]>`
    select exists (select from analytics_collections where org_id = ${orgId} and day = ${day}::date) as left`;
  return row!.left;
}

/** Leaves a channel for whoever reads it after so long. */
export const postponeCollection = (
  sql: Sql,
  collection: Collection,
  { ms, failures }: { ms: number; failures: number },
) => sql`
  update analytics_collections
  set claim = null, failures = ${failures}, due_at = now() + ${Math.min(ms, LONGEST_WAIT_MS)}::float8 * interval '1 ms'
  where ${claimed(sql, collection)}`;

/** Gives up channels of earlier days: what a network tells now is no longer theirs. Answers how many. */
export async function giveUpLate(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`/* all orgs */
    with late as (
      delete from analytics_collections k
      using (
        select org_id, day, channel_id
        from analytics_collections
        where due_at <= now()
          and day < ${lastDay(sql)}
        limit ${limit}
        for update
        skip locked
      ) l
      where k.org_id = l.org_id
        and k.day = l.day
        and k.channel_id = l.channel_id
      returning k.org_id, k.channel_id, k.day
    )
    insert into analytics_gaps (org_id, channel_id, date, reason)
    select l.org_id, l.channel_id, l.day, 'The service did not read it in time'
    from late l
    join channels c on c.id = l.channel_id and c.org_id = l.org_id
    on conflict (channel_id, date) do nothing`;
  return count;
}

export interface RunKey {
  orgId: string;
  day: string;
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
