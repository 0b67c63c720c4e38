import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers, SocialAdapter } from '../../providers/registry/index.ts';
import type { Channels } from '../../publishing/channels/index.ts';
import type { Posts } from '../../publishing/posts/index.ts';

/** What the room is opened with. */
export interface AnalyticsDeps {
  sql: Database;
  clock: Clock;
  billing: Pick<Billing, 'shown'>;
  providers: Pick<Providers, 'list'>;
  channels: Pick<Channels, 'adapterOf' | 'needsLogin'>;
  posts: Pick<Posts, 'readWithoutSlot'>;
  log: Log;
  /** Deviation from which a value is an anomaly, and days without a second one of the same metric. */
  anomalies: { z: number; cooldownDays: number };
  /** Days for which the counts of a post are read. */
  postDaysBack: number;
  /** Networks that are never asked, by provider id. */
  skippedNetworks: readonly string[];
  /** Calls for counts of posts that one collection of a channel makes at most, where a network has a limit of its own. */
  mostPages: Readonly<Record<string, number>>;
  /** Days until the days of channels become weeks, and until those of posts are deleted. */
  retention: { channelDays: number; postDays: number };
}

/** Whether a network has numbers that are read here. */
export const hasNumbers = (
  { skippedNetworks }: Pick<AnalyticsDeps, 'skippedNetworks'>,
  { id, metrics, channelMetrics }: Pick<SocialAdapter, 'id' | 'metrics' | 'channelMetrics'>,
): boolean => (metrics ?? channelMetrics) !== undefined && !skippedNetworks.includes(id);
