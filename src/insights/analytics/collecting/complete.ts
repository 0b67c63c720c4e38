import { append } from '../../../platform/outbox/index.ts';
import { isMetric } from '../../../providers/registry/index.ts';
import { BASELINE_DAYS, deviationOf } from './anomaly.ts';
import { type FoundAnomaly, findRecent, findSeries, findTopPosts, insertAnomalies } from './anomaly-store.ts';
import { markComplete, type RunKey } from './collection-store.ts';
import { plusDays } from '../days.ts';
import type { AnalyticsDeps } from '../deps.ts';
import type { Sql } from '../../../platform/db/index.ts';

/** Anomalies of one organization and day that are told; the farthest out come first. */
const MOST_ANOMALIES = 500;

/**
 * Completes a collection of which no channel is left: looks for anomalies, and announces both, in one commit and once.
 */
export const completeRun = (deps: Pick<AnalyticsDeps, 'sql' | 'anomalies'>, run: RunKey): Promise<void> =>
  deps.sql.begin(async (tx) => {
    if (!(await markComplete(tx, run))) return;
    const { orgId, day } = run;
    const found = await findAnomalies(tx, deps.anomalies, run);
    await insertAnomalies(tx, run, found);
    await append(tx, [
      { orgId, topic: 'analytics.snapshot_complete', entityId: orgId, payload: { day } },
      ...(found.length > 0
        ? [
            {
              orgId,
              topic: 'analytics.anomaly_detected' as const,
              entityId: orgId,
              payload: { anomalies: found.map((anomaly) => ({ ...anomaly, date: day })) },
            },
          ]
        : []),
    ]);
  });

async function findAnomalies(
  sql: Sql,
  { z, cooldownDays }: AnalyticsDeps['anomalies'],
  { orgId, day }: RunKey,
): Promise<FoundAnomaly[]> {
  // a stock is judged by its change, which needs one day more
  const rows = await findSeries(sql, orgId, { from: plusDays(day, -1 - BASELINE_DAYS), to: day });
  const series = Map.groupBy(rows, keyOf);
  const found = [...series.values()].flatMap((points) => {
    const { integrationId, integrationName, metric } = points[0]!;
    if (!isMetric(metric)) return [];
    const values = new Map(points.map(({ date, value }) => [date, value]));
    const deviation = deviationOf(metric, values, day, z);
    return deviation ? [{ integrationId, integrationName, metric, ...deviation }] : [];
  });
  if (found.length === 0) return [];
  const recent = await findRecent(sql, orgId, { from: plusDays(day, -cooldownDays), to: plusDays(day, -1) });
  const told = new Set(recent.map(keyOf));
  const fresh = found
    .filter((one) => !told.has(keyOf(one)))
    .toSorted((a, b) => Math.abs(b.deviation) - Math.abs(a.deviation) || (keyOf(a) < keyOf(b) ? -1 : 1))
    .slice(0, MOST_ANOMALIES);
  const top = new Map((await findTopPosts(sql, { orgId, day }, fresh)).map((row) => [keyOf(row), row.postId]));
  return fresh.map((one) => ({ ...one, topPostId: top.get(keyOf(one)) ?? null }));
}

const keyOf = ({ integrationId, metric }: { integrationId: string; metric: string }): string =>
  `${integrationId} ${metric}`;
