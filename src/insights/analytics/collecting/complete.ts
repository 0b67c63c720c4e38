import { append } from '../../../platform/outbox/index.ts';
import { isMetric } from '../../../providers/registry/index.ts';
import { comparedDays, deviationOf } from './anomaly.ts';
import {
  type AnomalyRow,
  findChannelIds,
  findNoted,
  findSeries,
  findTopPosts,
  insertAnomalies,
  type SeriesRow,
} from './anomaly-store.ts';
import { markComplete, type RunKey } from './run-store.ts';
import { type DayRange, plusDays } from '../days.ts';
import { CHANNEL_DAYS } from '../rules.ts';
import type { AnalyticsDeps } from '../deps.ts';
import type { Sql } from '../../../platform/db/index.ts';

/** Anomalies that one collection tells; the farthest out come first. */
const MOST_ANOMALIES = 500;
/** Channels whose days are in memory at a time: some thousand rows. */
const CHANNELS_AT_ONCE = 20;

/**
 * Completes a collection of which no channel is left: looks for anomalies, and announces both, in one commit and once.
 */
export const completeRun = (deps: Pick<AnalyticsDeps, 'sql' | 'anomalies'>, run: RunKey): Promise<void> =>
  deps.sql.begin(async (tx) => {
    if (!(await markComplete(tx, run))) return;
    const { orgId, day } = run;
    const found = await findAnomalies(tx, deps.anomalies, run);
    const noted = new Set((await insertAnomalies(tx, orgId, found)).map(keyOf));
    const anomalies = found.filter((one) => noted.has(keyOf(one))); // the run of another day may have been faster
    await append(tx, [
      { orgId, topic: 'analytics.snapshot_complete', entityId: orgId, payload: { day } },
      ...(anomalies.length > 0
        ? [{ orgId, topic: 'analytics.anomaly_detected' as const, entityId: orgId, payload: { anomalies } }]
        : []),
    ]);
  });

/** The anomalies of all days that networks were asked for: many tell a day one to three days late. */
async function findAnomalies(
  sql: Sql,
  { z, cooldownDays }: AnalyticsDeps['anomalies'],
  { orgId, day }: RunKey,
): Promise<AnomalyRow[]> {
  const judged = Array.from({ length: CHANNEL_DAYS }, (_, n) => plusDays(day, n + 1 - CHANNEL_DAYS));
  const compared = judged.map(comparedDays); // once for all series
  const range = { from: compared[0]!.at(-1)!, to: day };
  const channelIds = await findChannelIds(sql, orgId);
  const found: Deviating[] = [];
  for (let at = 0; at < channelIds.length; at += CHANNELS_AT_ONCE) {
    const rows = await findSeries(sql, { orgId, channelIds: channelIds.slice(at, at + CHANNELS_AT_ONCE) }, range);
    found.push(...[...Map.groupBy(rows, seriesOf).values()].flatMap((points) => deviating(points, compared, z)));
  }
  if (found.length === 0) return [];
  const rest = (date: string): DayRange => ({ from: plusDays(date, -cooldownDays), to: plusDays(date, cooldownDays) });
  const noted = await findNoted(sql, orgId, { from: rest(judged[0]!).from, to: rest(day).to });
  const told = new Map([...Map.groupBy(noted, seriesOf)].map(([key, some]) => [key, some.map(({ date }) => date)]));
  const fresh = found
    .filter((one) => {
      const { from, to } = rest(one.date);
      const dates = told.get(seriesOf(one)) ?? [];
      if (dates.some((date) => date >= from && date <= to)) return false;
      told.set(seriesOf(one), [...dates, one.date]);
      return true;
    })
    .toSorted((a, b) => Math.abs(b.deviation) - Math.abs(a.deviation) || (keyOf(a) < keyOf(b) ? -1 : 1))
    .slice(0, MOST_ANOMALIES);
  const top = new Map((await findTopPosts(sql, orgId, fresh)).map((row) => [keyOf(row), row.postId]));
  return fresh.map((one) => ({ ...one, topPostId: top.get(keyOf(one)) ?? null }));
}

type Deviating = Omit<AnomalyRow, 'topPostId'>;

/** The days of one series that stand out; `compared` has each judged day before those that it is compared with. */
function deviating(points: readonly SeriesRow[], compared: readonly (readonly string[])[], z: number): Deviating[] {
  const { integrationId, integrationName, metric } = points[0]!;
  if (!isMetric(metric)) return [];
  const values = new Map(points.map(({ date, value }) => [date, value]));
  return compared.flatMap((days) => {
    const deviation = deviationOf(metric, values, days, z);
    return deviation ? [{ integrationId, integrationName, metric, date: days[0]!, ...deviation }] : [];
  });
}

const seriesOf = ({ integrationId, metric }: { integrationId: string; metric: string }): string =>
  `${integrationId} ${metric}`;
const keyOf = (one: { integrationId: string; metric: string; date: string }): string => `${seriesOf(one)} ${one.date}`;
