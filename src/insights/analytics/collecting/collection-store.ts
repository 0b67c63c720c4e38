import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { type ChannelSnapshot, snapshot } from '../../../publishing/posts/index.ts';
import { lastDay } from './run-store.ts';
import { type CollectionKey, deriveDays } from './snapshot-store.ts';

// A row of `analytics_collections` is a channel that is left of a run, so that whoever goes on after a crash asks only
// those.

/** How long a claimed channel is left to whoever claimed it. */
export const COLLECTION_CLAIM_MS = 10 * 60_000;
const LONGEST_WAIT_MS = 3_600_000;

/** A channel that was claimed to be read. */
export interface Collection extends CollectionKey {
  claim: string;
  /** How often it could not be read this time. */
  failures: number;
  /** Null: the channel is deleted or disabled, or its organization is, and needs not be read. */
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
    left join organizations o on o.id = k.org_id and o.deleted_at is null and o.disabled_at is null
    left join channels c on c.id = k.channel_id and c.org_id = o.id and c.deleted_at is null and not c.disabled`;
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
