import { retentionRule, type Sql } from '../../platform/db/index.ts';
import { STOCKS } from './rules.ts';

/** Days that are looked at for each one of `limit`: a statement for a few weeks costs more than the weeks do. */
const DAYS_AT_ONCE = 10;

/**
 * Rolls up whole ISO weeks of organizations that lie `days` back, together with the deletion of their days: flows add up, of
 * a stock the latest value stays (RT1 to RT3). A week that was rolled up is never changed. Answers `limit` where
 * there is more.
 */
export async function rollUpWeeks(sql: Sql, days: number, limit: number): Promise<number> {
  const [rolled] = await sql<{ looked: number }[]>`/* all orgs */
    with old as (
      select org_id, date
      from analytics_days
      where date < date_trunc('week', (now() at time zone 'UTC')::date - ${days}::int)::date
      order by date
      limit ${limit * DAYS_AT_ONCE}
    ), weeks as (
      select distinct org_id, date_trunc('week', date::timestamp)::date as week
      from old
    ), deleted as (
      delete from analytics_days d
      using weeks w
      where d.org_id = w.org_id -- of all its channels, as its days lie side by side in the index
        and d.date >= w.week
        and d.date < w.week + 7
      returning d.*, w.week
    ), rolled as (
      insert into analytics_weeks (org_id, channel_id, metric, week, value, derived)
      select org_id, channel_id, metric, week, coalesce(
          (array_agg(value order by date desc) filter (where metric = any(${[...STOCKS]}::text[])))[1], -- sorts these alone
          sum(value)
        ), bool_or(derived)
      from deleted
      group by org_id, channel_id, metric, week
      on conflict (channel_id, metric, week) do nothing
    )
    select ceil(count(*) / ${DAYS_AT_ONCE}::float8)::int as looked
    from old`;
  return rolled!.looked;
}

/** Tables whose rows are kept as long as days of channels. */
const KEPT_WITH_DAYS = [
  ['analytics_gaps', 'date'],
  ['analytics_anomalies', 'date'],
  ['analytics_runs', 'day'],
] as const;

/** Days of channels in weeks that are over for so long, and what is kept with them (RT1). */
export const channelDaysRetention = retentionRule(
  'ANALYTICS_DAILY_RETENTION_DAYS',
  ['analytics-weeks'],
  (sql, { days }) => sql`
    select t.date::timestamp at time zone 'UTC' as at
    from analytics_days t
    where t.date < date_trunc('week', (now() at time zone 'UTC')::date - ${days}::int)::date`,
  ...KEPT_WITH_DAYS.map(
    ([table, column]) =>
      (sql: Sql, { days }: { days: number }) =>
        sql`
    select t.${sql(column)}::timestamp at time zone 'UTC' as at
    from ${sql(table)} t
    where t.${sql(column)} < (now() at time zone 'UTC')::date - ${days}::int`,
  ),
);
export const postDaysRetention = retentionRule(
  'ANALYTICS_POST_RETENTION_DAYS', // RT4
  ['analytics-posts'],
  (sql, { days }) => sql`
    select t.date::timestamp at time zone 'UTC' as at
    from analytics_post_days t
    where t.date < (now() at time zone 'UTC')::date - ${days}::int`,
);

/** Forgets gaps, anomalies and runs that lie `days` back; answers how many. */
export async function deleteOldNotes(sql: Sql, days: number, limit: number): Promise<number> {
  let deleted = 0;
  for (const [table, column] of KEPT_WITH_DAYS) {
    const { count } = await sql`/* all orgs */
      delete from ${sql(table)}
      where ctid = any(array(
        select ctid
        from ${sql(table)}
        where ${sql(column)} < (now() at time zone 'UTC')::date - ${days}::int
        limit ${limit}
        for update
        skip locked
      ))`;
    deleted = Math.max(deleted, count);
  }
  return deleted;
}

/** Forgets snapshots of posts that are older than `days` (RT4); answers how many. */
export async function deleteOldPostDays(sql: Sql, days: number, limit: number): Promise<number> {
  const { count } = await sql`/* all orgs */
    delete from analytics_post_days
    where ctid = any(array(
      select ctid
      from analytics_post_days
      where date < (now() at time zone 'UTC')::date - ${days}::int
      order by date
      limit ${limit}
      for update
      skip locked
    ))`;
  return count;
}
