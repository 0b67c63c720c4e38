import type { Billing } from '../entitlements/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { Providers } from '../providers/registry/index.ts';
import type { ProviderSettings } from '../providers/settings/index.ts';
import type { Channels } from '../publishing/channels/index.ts';
import type { Egress } from '../publishing/egress/index.ts';
import type { Posts } from '../publishing/posts/index.ts';
import { openAnalytics } from './analytics/index.ts';
import { openCompetitors } from './competitors/index.ts';
import { openStreaks, streaksListener } from './streaks/index.ts';

export interface InsightsNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  outbound: Outbound;
  logs: Logs;
  billing: Billing;
  providers: Providers;
  providerSettings: ProviderSettings;
  channels: Channels;
  egress: Egress;
  posts: Posts;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens what organizations learn of what they publish, and of accounts that they watch. */
export async function openInsightsWing({ config, logs, outbound, providerSettings, egress, ...needs }: InsightsNeeds) {
  await using opened = new AsyncDisposableStack();
  const { sql, clock, billing, providers, channels, posts } = needs;
  const { anomalyZ, anomalyCooldownDays, postDaysBack, skippedNetworks, mostPages } = config.analytics;
  const base = { sql, clock, billing, providers, channels };
  const analytics = openAnalytics({
    ...base,
    posts,
    log: logs.of('analytics'),
    anomalies: { z: anomalyZ, cooldownDays: anomalyCooldownDays },
    postDaysBack,
    skippedNetworks,
    mostPages,
    retention: { channelDays: config.retention.analyticsDaily, postDays: config.retention.analyticsPost },
  });
  const competitors = openCompetitors({
    ...base,
    outbound,
    settings: providerSettings,
    egress,
    log: logs.of('competitors'),
  });
  const streaks = openStreaks({ sql });
  return wing(opened, {
    rooms: { analytics, competitors, streaks },
    listeners: [streaksListener],
    sweeps: [
      { name: 'analytics-schedules', everyMs: HOUR, run: (limit) => analytics.keepSchedules(limit) },
      { name: 'analytics-runs', everyMs: MINUTE, run: (limit) => analytics.runCollections(limit) },
      { name: 'analytics-weeks', everyMs: HOUR, run: (limit) => analytics.rollUp(limit) },
      { name: 'analytics-posts', everyMs: HOUR, run: (limit) => analytics.dropPostDays(limit) },
      { name: 'analytics-summaries', everyMs: MINUTE, run: (limit) => analytics.tellWeeks(limit) },
      { name: 'competitors', everyMs: MINUTE, run: (limit) => competitors.readCompetitors(limit) },
      { name: 'competitor-snapshots', everyMs: HOUR, run: (limit) => competitors.dropOldCompetitorDays(limit) },
      { name: 'streak-reminders', everyMs: 5 * MINUTE, run: (limit) => streaks.remindOfStreaks(limit) },
    ],
    workers: [() => analytics.start()],
  });
}
