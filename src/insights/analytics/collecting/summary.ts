import { append, type NewFact } from '../../../platform/outbox/index.ts';
import { instantOfLocal, isTimezone, localTimeOf } from '../../../platform/kernel/index.ts';
import { ALL_METRICS } from '../rules.ts';
import { mondayOf, plusDays, rangeBefore, type DayRange } from '../days.ts';
import type { AnalyticsDeps } from '../deps.ts';
import { claimSummary, findLastDay, findSummaries, findSums, moveSummary } from './summary-store.ts';
import { runEach, type Sql } from '../../../platform/db/index.ts';

const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
const AT = '09:00:00.000';
/** A week whose numbers end before this many days ago is told to nobody. */
const OLDEST_DAYS = 4;

/** The local Monday whose 09:00 was last, and the instant of the next one, by the clocks of a zone. */
export function summaryTimes(now: Date, timezone: string): { monday: string; nextAt: Date } {
  const zone = isTimezone(timezone) ? timezone : 'UTC';
  const today = localTimeOf(now, zone).slice(0, 10);
  const thisMonday = mondayOf(today);
  const isPast = instantOfLocal(`${thisMonday}T${AT}`, zone) <= now;
  const monday = isPast ? thisMonday : plusDays(thisMonday, -WEEK_DAYS);
  return { monday, nextAt: instantOfLocal(`${plusDays(monday, WEEK_DAYS)}T${AT}`, zone) };
}

/**
 * Announces the week of organizations on Mondays at 09:00 by their clocks, once, in the commit that plans the next one.
 * Answers how many were looked at; one that fails holds up no other.
 */
export const tellWeeks = ({ sql, log }: Pick<AnalyticsDeps, 'sql' | 'log'>, limit: number): Promise<number> =>
  runEach<string>(limit, {
    find: (most, tried) => findSummaries(sql, most, tried),
    work: (orgId) => sql.begin((tx) => tellWeek(tx, orgId)),
    failed: (err, orgId) => log.warn({ err, orgId }, 'the week of an organization could not be told, tried again'),
  });

async function tellWeek(tx: Sql, orgId: string): Promise<void> {
  const due = await claimSummary(tx, orgId);
  if (!due) return;
  const { timezone, summaryFor, now } = due;
  const { monday, nextAt } = summaryTimes(now, timezone);
  // what was not looked at before has no week that ends now; a changed zone brings no second one
  if (summaryFor !== null && monday > summaryFor) await append(tx, await weekOf(tx, orgId, now));
  const done = summaryFor !== null && summaryFor > monday ? summaryFor : monday;
  await moveSummary(tx, orgId, { summaryFor: done, nextAt, timezone });
}

/** The fact of the last seven days that were collected; none where nothing was. */
async function weekOf(sql: Sql, orgId: string, now: Date): Promise<NewFact[]> {
  const to = await findLastDay(sql, orgId);
  if (to === undefined || now.getTime() - Date.parse(to) > OLDEST_DAYS * DAY_MS) return [];
  const range: DayRange = { from: plusDays(to, 1 - WEEK_DAYS), to };
  const { sums, channels } = await findSums(sql, orgId, range, rangeBefore(range));
  const byMetric = new Map(sums.map((sum) => [sum.metric, sum]));
  const metrics = ALL_METRICS.flatMap((metric) => {
    const { value, compared, previous } = byMetric.get(metric) ?? { value: 0, compared: 0, previous: 0 };
    if (value === 0 && previous === 0) return [];
    return [{ metric, value, ...(compared !== value && { compared }), previous }];
  });
  if (metrics.length === 0) return [];
  return [{ orgId, topic: 'analytics.week_summed', entityId: orgId, payload: { ...range, channels, metrics } }];
}
