import type { Billing } from '../../entitlements/index.ts';
import type { Cache } from '../../platform/cache/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { type Clock, isId, notFound, type Vault } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { Events } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { Egress } from '../egress/index.ts';
import type { FollowUpsPort, MediaPort } from '../posts/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { Opened } from './credentials.ts';
import { type ChannelRow, channelsById } from './store.ts';

/** What the room is opened with. */
export interface ChannelsOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  providers: Providers;
  /** The apps that organizations have registered at networks themselves. */
  settings: Pick<ProviderSettings, 'configured'>;
  outbound: Pick<Outbound, 'judge'>;
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
  /** What follows the posts that a channel starts with or gives up. */
  followUps: Pick<FollowUpsPort, 'plan'>;
  /** Judges the files that settings name. */
  media: Pick<MediaPort, 'judge'>;
  /** Keeps answers of networks for a minute. */
  cache: Pick<Cache, 'get' | 'set'>;
  /** The routes that calls to networks take. */
  egress: Pick<Egress, 'open' | 'egressRouteOf'>;
  frontendUrl: string;
  /** INTEGRATION_RETURN_URL_ALLOWLIST */
  returnUrlAllowlist: readonly string[];
  /** Networks whose posts go out without links (STRIP_LINKS_FROM_X_POSTS). */
  stripLinksFrom: readonly string[];
  /** Told of channels that are connected or lost. */
  events?: Pick<Events, 'channelConnected' | 'channelNeedsLogin'> | undefined;
}
/** Stops a channel until a person logs in again; true when this call did it. `seen`: the sealed login that was refused. */
export type NeedsLogin = (orgId: string, channelId: string, reason: string, seen?: string) => Promise<boolean>;
/** What the use cases of the room are handed. */
export interface ChannelsDeps extends ChannelsOptions {
  needsLogin: NeedsLogin;
  /** Renewals under way in this process, by the sealed text that they replace. */
  underWay: Map<string, Promise<Opened>>;
}

export const unknownChannel = () => notFound('Integration not found');

export async function getChannelRow(
  { sql }: Pick<ChannelsDeps, 'sql'>,
  orgId: string,
  id: string,
): Promise<ChannelRow> {
  const [found] = isId(id) ? await channelsById(sql, orgId, [id]) : [];
  if (!found) throw unknownChannel();
  return found;
}
