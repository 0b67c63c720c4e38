import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { type Clock, isId, notFound, type Vault } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { Events } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { Egress } from '../egress/index.ts';
import type { openConnections } from './connection.ts';
import type { openLogins } from './login.ts';
import { type ChannelRow, channelsById } from './store.ts';

/** What the room is opened with. */
export interface ChannelsOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  providers: Providers;
  outbound: Pick<Outbound, 'judge'>;
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
  /** The routes that calls to networks take. */
  egress: Pick<Egress, 'open' | 'egressRouteOf'>;
  frontendUrl: string;
  /** INTEGRATION_RETURN_URL_ALLOWLIST */
  returnUrlAllowlist: readonly string[];
  /** Told of channels that are connected or lost. */
  events?: Pick<Events, 'channelConnected' | 'channelNeedsLogin'> | undefined;
}
/** What the use cases of the room are handed. */
export interface ChannelsDeps extends ChannelsOptions {
  connections: ReturnType<typeof openConnections>;
  logins: ReturnType<typeof openLogins>;
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
