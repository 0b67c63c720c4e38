import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { AppError, type Clock, invalidField } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers, SocialAdapter } from '../../providers/registry/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { Channels } from '../../publishing/channels/index.ts';
import type { Egress } from '../../publishing/egress/index.ts';
import { findUsableChannel } from './store.ts';

/** What the room is opened with. */
export interface CompetitorsDeps {
  sql: Database;
  clock: Clock;
  providers: Pick<Providers, 'list' | 'resolve' | 'connect'>;
  settings: Pick<ProviderSettings, 'configured'>;
  channels: Pick<Channels, 'connect'>;
  egress: Pick<Egress, 'egressRouteOf'>;
  outbound: Pick<Outbound, 'judge'>;
  billing: Pick<Billing, 'lockOrg' | 'admit' | 'shown'>;
  log: Log;
}

/** A network that shows accounts of others. */
export interface Watched {
  adapter: SocialAdapter;
  look: NonNullable<SocialAdapter['publicProfile']>;
}

/** The networks whose accounts can be watched. */
const networksOf = ({ providers }: Pick<CompetitorsDeps, 'providers'>): string[] => [
  ...new Set(providers.list('social').flatMap(({ id, publicProfile }) => (publicProfile ? [id] : []))),
];

/** Finds a network by its id. @throws AppError 400 naming those whose accounts can be watched */
export function watchedNetwork(deps: Pick<CompetitorsDeps, 'providers'>, providerId: string): Watched {
  const known = networksOf(deps);
  const adapter = known.includes(providerId) ? deps.providers.resolve('social', providerId) : undefined;
  if (!adapter?.publicProfile)
    throw invalidField('providerIdentifier', `must be one of ${known.toSorted().join(', ')}`, 'invalid_value');
  return { adapter, look: adapter.publicProfile };
}

/**
 * Answers the channel whose login asks the network, undefined where it asks for none.
 * @throws AppError 400 where there is none, or where the organization has not agreed to what each look-up costs
 */
export async function channelToAsk(
  { sql, settings }: Pick<CompetitorsDeps, 'sql' | 'settings'>,
  orgId: string,
  { adapter: { id, title }, look }: Watched,
): Promise<string | undefined> {
  if (look.optIn !== undefined) {
    const own = (await settings.configured(orgId, 'social')).get(id);
    if (own?.values[look.optIn] !== 'true')
      throw invalidField(
        'providerIdentifier',
        `${title} charges for each account that is read: set ${look.optIn} to true in the organization's settings of the provider social/${id}`,
        'not_allowed',
      );
  }
  if (look.by === 'anyone') return undefined;
  const channelId = await findUsableChannel(sql, orgId, id);
  if (channelId === undefined)
    throw invalidField(
      'providerIdentifier',
      `${title} shows accounts to its own: connect a channel first`,
      'no_channel',
    );
  return channelId;
}

/** The organization watches the account already. */
export const watchedAlready = () =>
  new AppError('conflict', 'This account is watched already', {
    errors: [{ field: 'handle', message: 'handle: is watched already', rule: 'taken' }],
  });
