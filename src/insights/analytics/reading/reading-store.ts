import type { Fragment, Sql } from '../../../platform/db/index.ts';
import type { DayRange } from '../days.ts';
import { ALL_METRICS, STOCKS } from '../rules.ts';

// Each answer is one statement, whatever it tells. Days that were rolled up are told as weeks, with their Monday.

/** A value of a channel; `interval` says what its date stands for. */
export interface SeriesPoint {
  metric: string;
  date: string;
  value: number;
  derived: boolean;
  interval: 'day' | 'week';
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
  previous: number | null;
}

/** The values of every channel of an organization over a range, and over that before; `before` undefined: not shown. */
export const findOverview = (
  sql: Sql,
  orgId: string,
  range: DayRange,
  before: DayRange | undefined,
): Promise<OverviewRow[]> => {
  const first = before?.from ?? range.from;
  const within = ({ from, to }: DayRange) => sql`date between ${from}::date and ${to}::date`;
  const over = (some: DayRange) => sql`
      case
        when metric = any(${[...STOCKS]}::text[])
        then (array_agg(value order by date desc) filter (where ${within(some)}))[1]
        else sum(value) filter (where ${within(some)})
      end`;
  return sql<OverviewRow[]>`
    select c.id as "integrationId", s.metric, s.value, s.previous
    from channels c
    left join (
      select channel_id, metric, ${over(range)} as value, ${before ? over(before) : sql`null::float8`} as previous
      from (
        select channel_id, metric, date, value
        from analytics_days
        where org_id = ${orgId}
          and date between ${first}::date and ${range.to}::date
        union all
        select channel_id, metric, week, value
        from analytics_weeks
        where org_id = ${orgId}
          and week between ${first}::date and ${range.to}::date
      ) days
      group by channel_id, metric
    ) s on s.channel_id = c.id
    where c.org_id = ${orgId}
      and c.deleted_at is null
    order by c.created_at, c.id, s.metric`;
};
