import type { Sql } from '../../../platform/db/index.ts';
import { type DayRange, lengthOf } from '../days.ts';
import { STOCKS } from '../rules.ts';

interface DueSummary {
  timezone: string;
  /** The local Monday whose summary is done; null: the organization was not looked at yet. */
  summaryFor: string | null;
  now: Date;
}

/** Organizations whose week ends, or is to be planned, beside those without which they are asked for. */
export async function findSummaries(sql: Sql, limit: number, without: readonly string[]): Promise<string[]> {
  const rows = await sql<{ orgId: string }[]>`/* all orgs */
    select s.org_id as "orgId"
    from analytics_schedules s
    join organizations o on o.id = s.org_id
    where s.summary_at <= now()
      and o.disabled_at is null
      and s.org_id <> all(${[...without]}::uuid[])
    order by s.summary_at
    limit ${limit}`;
  return rows.map(({ orgId }) => orgId);
}

/** Claims one of them until the commit; undefined: somebody else did it, or does it now. */
export async function claimSummary(sql: Sql, orgId: string): Promise<DueSummary | undefined> {
  const [due] = await sql<DueSummary[]>`
    select o.timezone, s.summary_for::text as "summaryFor", now() as now
    from analytics_schedules s
    join organizations o on o.id = s.org_id
    where s.org_id = ${orgId}
      and s.summary_at <= now()
    for update of s
    skip locked`;
  return due;
}

export const moveSummary = (
  sql: Sql,
  orgId: string,
  { summaryFor, nextAt, timezone }: { summaryFor: string; nextAt: Date; timezone: string },
) => sql`
  update analytics_schedules
  set summary_for = ${summaryFor}::date, summary_at = ${nextAt}, summary_zone = ${timezone}
  where org_id = ${orgId}`;

/** Has the summaries of organizations planned anew whose zone has changed. */
export const replanSummaries = (sql: Sql) => sql`/* all orgs */
  update analytics_schedules s
  set summary_at = now()
  from organizations o
  where o.id = s.org_id
    and s.summary_zone <> o.timezone
    and s.summary_at > now()`;

/** The last day whose collection is complete. */
export async function findLastDay(sql: Sql, orgId: string): Promise<string | undefined> {
  const [last] = await sql<{ day: string }[]>`
    select day::text as day
    from analytics_runs r
    where r.org_id = ${orgId}
      and r.completed_at is not null
    order by r.day desc
    limit 1`;
  return last?.day;
}

interface Sum {
  metric: string;
  value: number;
  /** The values of both weeks that are known of channels and days in both. */
  compared: number;
  previous: number;
}
interface Sums {
  sums: readonly Sum[];
  /** Channels with a value in one of the weeks. */
  channels: number;
}

/**
 * The values of each metric over all channels of an organization, in a range and in the one before. Of a stock those of
 * channels with both count: what was not read is no fall, and a channel that is new no rise. Of any other those days are
 * compared that a channel has in both: networks tell the latest ones late, and what was missed is never told.
 */
export async function findSums(sql: Sql, orgId: string, range: DayRange, before: DayRange): Promise<Sums> {
  const isStock = sql`metric = any(${[...STOCKS]}::text[])`;
  const within = ({ from, to }: DayRange) => sql`d.date between ${from}::date and ${to}::date`;
  const length = sql`${lengthOf(range)}::int`;
  const isInBoth = sql`exists (
              select
              from analytics_days n
              where n.org_id = d.org_id
                and n.channel_id = d.channel_id
                and n.metric = d.metric
                and n.date = case when ${within(before)} then d.date + ${length} else d.date - ${length} end
            )`;
  const over = (some: DayRange, counts = sql`true`) => sql`
          case
            when ${isStock}
            then (array_agg(d.value order by d.date desc) filter (where ${within(some)}))[1]
            else sum(d.value) filter (where ${within(some)} and ${counts})
          end`;
  const [found] = await sql<Sums[]>`
    with numbers as (
      select d.channel_id, d.metric, ${over(range)} as value, ${over(range, isInBoth)} as compared,
        ${over(before, isInBoth)} as previous
      from analytics_days d
      join channels c on c.id = d.channel_id and c.org_id = d.org_id and c.deleted_at is null
      where d.org_id = ${orgId}
        and d.date between ${before.from}::date and ${range.to}::date
      group by d.channel_id, d.metric
    ), sums as (
      select metric, coalesce(sum(value), 0) as value, coalesce(sum(compared), 0) as compared,
        coalesce(sum(previous), 0) as previous
      from numbers
      where not ${isStock}
        or (value is not null and previous is not null)
      group by metric
    )
    select (select coalesce(json_agg(sums), '[]') from sums) as sums,
      (select count(distinct channel_id)::int from numbers) as channels`;
  return found!;
}
