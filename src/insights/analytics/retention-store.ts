import { retentionRule, type Sql } from '../../platform/db/index.ts';
import { STOCKS } from './rules.ts';

/** Days that are looked at for each one of `limit`: a statement for a few weeks costs more than the weeks do. */
const DAYS_AT_ONCE = 20;

/** The values of the CTE `deleted` as those of weeks: flows add up, of a stock the latest stays. Sorts stocks alone. */
const valuesOfWeeks = (sql: Sql) => sql`
  select org_id, channel_id, metric, week, sum(value), bool_or(derived)
  from deleted
  where metric <> all(${[...STOCKS]}::text[])
  group by org_id, channel_id, metric, week
  union all (
    select distinct on (org_id, channel_id, metric, week) org_id, channel_id, metric, week, value, derived
    from deleted
    where metric = any(${[...STOCKS]}::text[])
    order by org_id, channel_id, metric, week, date desc
  )
  order by channel_id, metric -- as the key of weeks, whose pages are then written one after the other`;

/**
 * Rolls up the oldest whole ISO weeks that lie `days` back, of some organizations and together with the deletion of
 * their days: flows add up, of a stock the latest value stays (RT1 to RT3). A week that was rolled up is never changed.
 * Answers `limit` where there is more.
 */
export async function rollUpWeeks(sql: Sql, days: number, limit: number): Promise<number> {
  const [rolled] = await sql<{ looked: number }[]>`/* all orgs */
    with oldest as (
      select org_id, date_trunc('week', date::timestamp)::date as week
      from analytics_days
      where date < date_trunc('week', (now() at time zone 'UTC')::date - ${days}::int)::date
      order by date
      limit ${limit * DAYS_AT_ONCE}
    ), due as (
      select count(*) as looked, array_agg(distinct org_id) as orgs, min(week) as first, max(week) as last
      from oldest
    ), deleted as (
      delete from analytics_days -- of a range, by single values: joined with weeks, all of the table would be read
      where org_id = any((select orgs from due)::uuid[])
        and date >= (select first from due)
        and date < (select last + 7 from due)
      returning *, date_trunc('week', date::timestamp)::date as week
    ), rolled as (
      insert into analytics_weeks (org_id, channel_id, metric, week, value, derived)
      ${valuesOfWeeks(sql)}
      on conflict (channel_id, metric, week) do nothing
    )
    select ceil(looked / ${DAYS_AT_ONCE}::float8)::int as looked
    from due`;
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

/** Forgets gaps, anomalies and runs that lie `days` back; answers how many, of the table with the most. */
export async function deleteOldNotes(sql: Sql, days: number, limit: number): Promise<number> {
  const [gaps, anomalies, runs] = KEPT_WITH_DAYS.map(
    ([table, column]) => sql`
      delete from ${sql(table)}
      where ctid = any(array(
        select ctid
        from ${sql(table)}
        where ${sql(column)} < (now() at time zone 'UTC')::date - ${days}::int
        limit ${limit}
        for update
        skip locked
      ))
      returning 1`,
  );
  const [deleted] = await sql<{ most: number }[]>`/* all orgs */
    with gaps as (${gaps!}), anomalies as (${anomalies!}), runs as (${runs!})
    select greatest(
        (select count(*) from gaps), (select count(*) from anomalies), (select count(*) from runs)
      )::int as most`;
  return deleted!.most;
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
