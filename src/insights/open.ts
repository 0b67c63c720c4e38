import type { Billing } from '../entitlements/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Clock } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { Providers } from '../providers/registry/index.ts';
import type { ProviderSettings } from '../providers/settings/index.ts';
import type { Channels } from '../publishing/channels/index.ts';
import type { Egress } from '../publishing/egress/index.ts';
import { openCompetitors } from './competitors/index.ts';
import { openStreaks, streaksListener } from './streaks/index.ts';

export interface InsightsNeeds {
  sql: Database;
  clock: Clock;
  outbound: Outbound;
  logs: Logs;
  billing: Billing;
  providers: Providers;
  providerSettings: ProviderSettings;
  channels: Channels;
  egress: Egress;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens what organizations learn of what they publish, and of accounts that they watch. */
export async function openInsightsWing({ sql, clock, outbound, logs, providerSettings, ...needs }: InsightsNeeds) {
  await using opened = new AsyncDisposableStack();
  const { billing, providers, channels, egress } = needs;
  const competitors = openCompetitors({
    sql,
    clock,
    outbound,
    billing,
    providers,
    settings: providerSettings,
    channels,
    egress,
    log: logs.of('competitors'),
  });
  const streaks = openStreaks({ sql });
  return wing(opened, {
    rooms: { competitors, streaks },
    listeners: [streaksListener],
    sweeps: [
      { name: 'competitors', everyMs: MINUTE, run: (limit) => competitors.readCompetitors(limit) },
      { name: 'competitor-snapshots', everyMs: HOUR, run: (limit) => competitors.dropOldCompetitorDays(limit) },
      { name: 'streak-reminders', everyMs: 5 * MINUTE, run: (limit) => streaks.remindOfStreaks(limit) },
    ],
  });
}
