import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { Deviation } from './anomaly.ts';
import type { DayRange } from '../days.ts';
import { growthOf, isGrowthOfDay, joinBefore } from './snapshot-store.ts';

interface AnomalyKey {
  integrationId: string;
  metric: string;
  date: string;
}
export interface AnomalyRow extends AnomalyKey, Deviation {
  integrationName: string;
  /** A post that a quarter of the day is due to. */
  topPostId: string | null;
}

export interface SeriesRow extends AnomalyKey {
  integrationName: string;
  value: number;
}

export const findChannelIds = async (sql: Sql, orgId: string): Promise<string[]> =>
  (await sql<{ id: string }[]>`select id from channels where org_id = ${orgId} and deleted_at is null`).map(
    ({ id }) => id,
  );

/** The channel of the day `d` was not read on the day before it, though posts that were read on `d` were out by then. */
const isLateGrowth = (sql: Sql): Fragment => sql`(
        not exists (
          select
          from analytics_post_days e
          where e.org_id = d.org_id
            and e.channel_id = d.channel_id
            and e.date = d.date - 1
        )
        and exists (
          select
          from analytics_post_days n
          join posts p on p.id = n.post_id and p.org_id = n.org_id
          where n.org_id = d.org_id
            and n.channel_id = d.channel_id
            and n.date = d.date
            and p.published_at < d.date::timestamp at time zone 'UTC'
        )
      )`;

/**
 * The days of channels that can be compared: what posts gained since before a gap is more than a day. No gap is noted
 * of days on which the channel was disabled or deleted, or nothing was collected at all.
 */
export const findSeries = (
  sql: Sql,
  { orgId, channelIds }: { orgId: string; channelIds: readonly string[] },
  { from, to }: DayRange,
): Promise<SeriesRow[]> => sql<SeriesRow[]>`
  select d.channel_id as "integrationId", c.name as "integrationName", d.metric, d.date::text as date, d.value
  from analytics_days d
  join channels c on c.id = d.channel_id and c.org_id = d.org_id and c.deleted_at is null
  where d.org_id = ${orgId}
    and d.channel_id = any(${[...channelIds]}::uuid[])
    and d.date between ${from}::date and ${to}::date
    and not (
      d.derived
      and (
        exists (
          select
          from analytics_gaps g
          where g.org_id = d.org_id
            and g.channel_id = d.channel_id
            and g.date = d.date - 1
        )
        or ${isLateGrowth(sql)}
      )
    )`;

/** The anomalies of these days that were noted. */
export const findNoted = (sql: Sql, orgId: string, { from, to }: DayRange): Promise<AnomalyKey[]> => sql<AnomalyKey[]>`
  select channel_id as "integrationId", metric, date::text as date
  from analytics_anomalies
  where org_id = ${orgId}
    and date between ${from}::date and ${to}::date`;

/** The post of each channel that gained most of a metric on a day, where that is a quarter of the value. */
export const findTopPosts = (
  sql: Sql,
  orgId: string,
  found: readonly (AnomalyKey & { value: number })[],
): Promise<(AnomalyKey & { postId: string })[]> => sql<(AnomalyKey & { postId: string })[]>`
  select t.channel_id as "integrationId", t.metric, t.date::text as date, best.post_id as "postId"
  from unnest(
    ${found.map(({ integrationId }) => integrationId)}::uuid[], ${found.map(({ metric }) => metric)}::text[],
    ${found.map(({ date }) => date)}::text[]::date[], ${found.map(({ value }) => value)}::float8[]
  ) as t (channel_id, metric, date, value)
  cross join lateral (
    select n.post_id, ${growthOf(sql, sql`t.metric`)} as growth
    from analytics_post_days n
    join posts p on p.id = n.post_id and p.org_id = n.org_id
    ${joinBefore(sql)}
    where n.org_id = ${orgId}
      and n.channel_id = t.channel_id
      and n.date = t.date
      and n.counts ? t.metric
      and ${isGrowthOfDay(sql)}
    order by growth desc, n.post_id
    limit 1
  ) best
  where best.growth > 0
    and best.growth >= abs(t.value) / 4`;

/** Notes anomalies; answers those that nobody else has noted. */
export const insertAnomalies = (sql: Sql, orgId: string, found: readonly AnomalyRow[]): Promise<AnomalyKey[]> => sql<
  AnomalyKey[]
>`
  insert into analytics_anomalies (org_id, channel_id, metric, date, direction, value, baseline, deviation, top_post_id)
  select ${orgId}::uuid, t.*
  from unnest(
    ${found.map(({ integrationId }) => integrationId)}::uuid[], ${found.map(({ metric }) => metric)}::text[],
    ${found.map(({ date }) => date)}::text[]::date[], ${found.map(({ direction }) => direction)}::text[],
    ${found.map(({ value }) => value)}::float8[], ${found.map(({ baseline }) => baseline)}::float8[],
    ${found.map(({ deviation }) => deviation)}::float8[], ${found.map(({ topPostId }) => topPostId)}::uuid[]
  ) as t
  on conflict (channel_id, metric, date) do nothing
  returning channel_id as "integrationId", metric, date::text as date`;

/** Most anomalies that one answer tells. */
const MOST_TOLD = 1_000;

/** The anomalies of these days, the latest first. */
export const listAnomalyRows = (sql: Sql, orgId: string, { from, to }: DayRange): Promise<AnomalyRow[]> => sql<
  AnomalyRow[]
>`
  select a.channel_id as "integrationId", c.name as "integrationName", a.metric, a.direction, a.value, a.baseline,
    a.deviation, a.date::text as date, a.top_post_id as "topPostId"
  from analytics_anomalies a
  join channels c on c.id = a.channel_id and c.org_id = a.org_id and c.deleted_at is null
  where a.org_id = ${orgId}
    and a.date between ${from}::date and ${to}::date
  order by a.date desc, abs(a.deviation) desc, a.channel_id, a.metric
  limit ${MOST_TOLD}`;
