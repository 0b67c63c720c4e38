import type { Database, Fragment, Sql } from '../../platform/db/index.ts';
import { announce } from '../../platform/outbox/index.ts';
import { dayAtRisk, isStreakRunning } from './rules.ts';

/** Days in a row, in the zone of the organization, with at least one published post (S180). */
export interface Streak {
  /** Of the days up to today, or up to yesterday while today has none yet. */
  current: number;
  longest: number;
  /** As `2026-11-23`; null where nothing was published yet. */
  lastDate: string | null;
}
interface Needs {
  sql: Database;
}

/** Runs of days without a gap, of the CTE `days (org_id, day)`: in each the difference of day and place is the same. */
const runs = (sql: Sql): Fragment => sql`
      select org_id, max(day) as last_day, count(*)::int as days
      from (
        select org_id, day, day - (row_number() over (partition by org_id order by day))::int as run
        from days
      ) placed
      group by org_id, run`;

/** The streak of an organization, by the database's clock. */
export async function getStreak({ sql }: Needs, orgId: string): Promise<Streak> {
  const [last] = await sql<{ longest: number; days: number; lastDate: string; timezone: string; now: Date }[]>`
    with days as (
      select org_id, day
      from streak_days
      where org_id = ${orgId}
    ), runs as (${runs(sql)}
    )
    select max(r.days) over () as longest, r.days, r.last_day::text as "lastDate", o.timezone, now() as now
    from runs r
    join organizations o on o.id = r.org_id
    order by r.last_day desc
    limit 1`;
  if (!last) return { current: 0, longest: 0, lastDate: null };
  const { longest, days, lastDate, timezone, now } = last;
  return { current: isStreakRunning(lastDate, timezone, now) ? days : 0, longest, lastDate };
}

/** Days after which members are told that a streak ends. */
const SHORTEST = 3;

/**
 * Announces streaks that end today, once for each organization and day: it is evening there, the last days in a row
 * have posts and today has none. Answers how many.
 */
export async function remindOfStreaks({ sql }: Needs, limit: number): Promise<number> {
  const zones = await sql<{ timezone: string; now: Date }[]>`/* all orgs */
    select distinct o.timezone, now() as now
    from streak_days y
    join organizations o on o.id = y.org_id
    where not y.reminded
      and y.day >= (now() at time zone 'UTC')::date - 2`;
  const evenings = zones.flatMap(({ timezone, now }) => {
    const day = dayAtRisk(timezone, now);
    return day === undefined ? [] : [{ timezone, day }];
  });
  return evenings.length === 0 ? 0 : announceEnding(sql, evenings, limit);
}

async function announceEnding(
  sql: Sql,
  evenings: readonly { timezone: string; day: string }[],
  limit: number,
): Promise<number> {
  const [row] = await sql<{ ending: number }[]>`/* all orgs */
    with evening as (
      select *
      from unnest(
        ${evenings.map(({ timezone }) => timezone)}::text[],
        ${evenings.map(({ day }) => day)}::text[]::date[]
      ) as e (timezone, day)
    ), due as (
      select y.org_id, y.day
      from evening e
      join streak_days y on y.day = e.day
      join organizations o on o.id = y.org_id and o.timezone = e.timezone
      where not y.reminded
        and o.deleted_at is null
        and o.disabled_at is null
        and not exists (
          select
          from streak_days t
          where t.org_id = y.org_id
            and t.day = y.day + 1
        )
        and (
          select count(*)
          from streak_days b
          where b.org_id = y.org_id
            and b.day between y.day - ${SHORTEST - 1}::int and y.day
        ) = ${SHORTEST}
      order by y.day, y.org_id
      limit ${limit}
      for no key update of y
      skip locked
    ), marked as (
      update streak_days s
      set reminded = true
      from due d
      where s.org_id = d.org_id
        and s.day = d.day
      returning s.org_id, s.day
    ), days as (
      select s.org_id, s.day
      from streak_days s
      join marked m on m.org_id = s.org_id and s.day <= m.day
    ), runs as (${runs(sql)}
    ), ending as (
      select m.org_id, m.org_id as id, r.days, m.day + 1 as day
      from marked m
      join runs r on r.org_id = m.org_id and r.last_day = m.day
    ), ${announce(sql, {
      'streak.at_risk': { from: sql`ending`, payload: { days: sql`days`, day: sql`day` } },
    })}
    select count(*)::int as ending
    from marked`;
  return row!.ending;
}
