import type { AuditActor } from '../../../platform/audit/index.ts';
import { isId } from '../../../platform/kernel/index.ts';
import type { SocialAdapter } from '../../../providers/registry/index.ts';
import type { ChannelsOptions } from '../deps.ts';
import { type ChannelAccount, accountOf } from '../store.ts';

/** How long a login may take. */
export const STATE_MS = 3_600_000;

/** Who connects, and for which organization. */
export interface Person {
  orgId: string;
  userId: string;
  /** For the audit log. */
  by?: AuditActor | undefined;
}

/** Finds the channel that is to get a new login; of another network or organization, it is unknown. */
export async function channelToRefresh(
  { sql }: Pick<ChannelsOptions, 'sql'>,
  orgId: string,
  providerId: string,
  id: string,
): Promise<ChannelAccount | undefined> {
  const account = isId(id) ? await accountOf(sql, orgId, id) : undefined;
  return account?.providerId === providerId ? account : undefined;
}

/**
 * Chooses the version: a channel that gets a new login keeps its own while that works (VE18); whatever is connected anew
 * gets the newest.
 */
export function versionFor(
  { providers }: Pick<ChannelsOptions, 'providers'>,
  providerId: string,
  channel: ChannelAccount | undefined,
  allowPreview: boolean | undefined,
): SocialAdapter {
  const kept =
    channel &&
    providers.list('social').find(({ id, version }) => id === providerId && version === channel.providerVersion);
  return kept && providers.status(kept) !== 'retired'
    ? kept
    : providers.resolve('social', providerId, { allowPreview });
}
