import type { Billing } from '../entitlements/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock } from '../platform/kernel/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { Providers } from '../providers/registry/index.ts';
import type { Channels } from '../publishing/channels/index.ts';
import type { Posts } from '../publishing/posts/index.ts';
import { openAnalytics } from './analytics/index.ts';

export interface InsightsNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  logs: Logs;
  billing: Billing;
  providers: Providers;
  channels: Channels;
  posts: Posts;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens what is learned from the networks about what was published. */
export async function openInsightsWing({
  config,
  sql,
  clock,
  logs,
  billing,
  providers,
  channels,
  posts,
}: InsightsNeeds) {
  await using opened = new AsyncDisposableStack();
  const { anomalyZ, anomalyCooldownDays, postDaysBack, skippedNetworks, mostPages } = config.analytics;
  const analytics = openAnalytics({
    sql,
    clock,
    billing,
    providers,
    channels,
    posts,
    log: logs.of('analytics'),
    anomalies: { z: anomalyZ, cooldownDays: anomalyCooldownDays },
    postDaysBack,
    skippedNetworks,
    mostPages,
    retention: { channelDays: config.retention.analyticsDaily, postDays: config.retention.analyticsPost },
  });
  return wing(opened, {
    rooms: { analytics },
    sweeps: [
      { name: 'analytics-schedules', everyMs: HOUR, run: (limit) => analytics.keepSchedules(limit) },
      { name: 'analytics-runs', everyMs: MINUTE, run: (limit) => analytics.runCollections(limit) },
      { name: 'analytics-weeks', everyMs: HOUR, run: (limit) => analytics.rollUp(limit) },
      { name: 'analytics-posts', everyMs: HOUR, run: (limit) => analytics.dropPostDays(limit) },
      { name: 'analytics-summaries', everyMs: MINUTE, run: (limit) => analytics.tellWeeks(limit) },
    ],
    workers: [() => analytics.start()],
  });
}
