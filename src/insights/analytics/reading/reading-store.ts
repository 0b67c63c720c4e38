import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { type DayRange, lengthOf } from '../days.ts';
import { ALL_METRICS, STOCKS, type ValueOf } from '../rules.ts';

// Each answer is one statement, whatever it tells. Days that were rolled up are told as weeks, with their Monday.

/** A value of a channel; `interval` says what its date stands for. */
export interface SeriesPoint extends ValueOf {
  metric: string;
  derived: boolean;
}
export interface GapRow {
  date: string;
  reason: string;
}
interface ChannelSeries {
  points: readonly SeriesPoint[];
  gaps: readonly GapRow[];
}

/** What is asked of a channel; `metric` absent: all. */
export interface SeriesQuery extends DayRange {
  metric?: string | undefined;
  interval?: 'day' | 'week' | undefined;
}

/** Values of a channel by metric and date, and its days without any; undefined: it is not there. */
export async function findChannelSeries(
  sql: Sql,
  { orgId, channelId }: { orgId: string; channelId: string },
  { from, to, metric, interval = 'day' }: SeriesQuery,
): Promise<ChannelSeries | undefined> {
  const metrics = metric === undefined ? [...ALL_METRICS] : [metric];
  const of = (date: Fragment) => sql`
    org_id = c.org_id and channel_id = c.id and metric = any(${metrics}::text[])
        and ${date} between ${from}::date and ${to}::date`;
  const points = sql`
    select metric, date, value, derived, 'day' as interval
      from analytics_days
      where ${of(sql`date`)}
      union all
      select metric, week, value, derived, 'week'
      from analytics_weeks
      where ${of(sql`week`)}`;
  const [found] = await sql<ChannelSeries[]>`
    select coalesce((
        select json_agg(json_build_object('metric', p.metric, 'date', p.date, 'value', p.value, 'derived', p.derived,
          'interval', p.interval) order by p.metric, p.date)
        from (${interval === 'day' ? points : weekly(sql, points)}) p
      ), '[]') as points, coalesce((
        select json_agg(json_build_object('date', g.date, 'reason', g.reason) order by g.date)
        from analytics_gaps g
        where g.org_id = c.org_id
          and g.channel_id = c.id
          and g.date between ${from}::date and ${to}::date
          and not exists (
            select
            from analytics_days d
            where d.org_id = c.org_id
              and d.channel_id = c.id
              and d.metric = any(${metrics}::text[])
              and d.date = g.date
          )
      ), '[]') as gaps
    from channels c
    where c.org_id = ${orgId}
      and c.id = ${channelId}
      and c.deleted_at is null`;
  return found;
}

/** Sums flows, and takes the latest of stocks. */
const valueOfDays = (sql: Sql): Fragment => sql`
  case when metric = any(${[...STOCKS]}::text[]) then (array_agg(value order by date desc))[1] else sum(value) end`;

const weekly = (sql: Sql, points: Fragment): Fragment => sql`
      select metric, date_trunc('week', date::timestamp)::date as date, ${valueOfDays(sql)} as value,
        bool_or(derived) as derived, 'week' as interval
      from (${points}) days
      group by metric, date_trunc('week', date::timestamp)`;

export interface OverviewRow {
  integrationId: string;
  /** Null: nothing is known of the channel. */
  metric: string | null;
  value: number | null;
  /** Of a flow the same days before; null where one of them is not known. */
  previous: number | null;
}

const isStock = (sql: Sql): Fragment => sql`metric = any(${[...STOCKS]}::text[])`;

/** The days of an organization, those of weeks too: a flow in sevenths of a week, so that whole weeks stay exact. */
const sevenths = (sql: Sql, orgId: string, { from, to }: DayRange): Fragment => sql`
          select channel_id, metric, date, value * 7 as value
          from analytics_days
          where org_id = ${orgId}
            and date between ${from}::date and ${to}::date
          union all
          select channel_id, metric, week + n, case when ${isStock(sql)} then value * 7 else value end
          from analytics_weeks
          cross join generate_series(0, 6) n
          where org_id = ${orgId}
            and week between ${from}::date - 6 and ${to}::date
            and week + n between ${from}::date and ${to}::date`;

/** The values of every channel of an organization over a range, and over that before; `before` undefined: not shown. */
export const findOverview = (
  sql: Sql,
  orgId: string,
  range: DayRange,
  before: DayRange | undefined,
): Promise<OverviewRow[]> => {
  const isNow = sql`date >= ${range.from}::date`;
  const sum = (of: Fragment) => sql`round((sum(${of}) filter (where current is not null) / 7)::numeric, 2)::float8`;
  const latest = (of: Fragment) => sql`
          (array_agg(${of} order by day desc) filter (where ${of} is not null and ${isStock(sql)}))[1] / 7`;
  return sql<OverviewRow[]>`
    select c.id as "integrationId", s.metric, s.value, s.previous
    from channels c
    left join (
      select channel_id, metric,
        case when ${isStock(sql)} then ${latest(sql`current`)} else ${sum(sql`current`)} end as value,
        case
          when ${isStock(sql)} then ${latest(sql`earlier`)}
          when bool_and(earlier is not null) filter (where current is not null) then ${sum(sql`earlier`)}
        end as previous
      from (
        select channel_id, metric,
          case when ${isNow} then date else date + ${lengthOf(range)}::int end as day,
          max(value) filter (where ${isNow}) as current, max(value) filter (where not ${isNow}) as earlier
        from (${sevenths(sql, orgId, { from: before?.from ?? range.from, to: range.to })}
        ) days
        group by 1, 2, 3
      ) pairs
      group by channel_id, metric
    ) s on s.channel_id = c.id
    where c.org_id = ${orgId}
      and c.deleted_at is null
    order by c.created_at, c.id, s.metric`;
};
