import { isId } from '../../platform/kernel/index.ts';
import type { SocialAdapter } from '../../providers/registry/index.ts';
import { type ChannelsDeps, getChannelRow } from './deps.ts';
import { daysLeft } from './rules.ts';
import { type ChannelRow, channelsById, channelsOfOrg } from './store.ts';

/** A channel with what is only known beside its row. */
export interface ChannelView extends ChannelRow {
  /** Undefined where its version is no longer registered. */
  adapter: SocialAdapter | undefined;
  /** Whole days; null for a token that does not expire. */
  tokenDaysLeft: number | null;
}

type Deps = Pick<ChannelsDeps, 'sql' | 'clock' | 'providers'>;

/** Lists the channels of an organization, of one group when given; an unknown group has none (S262). */
export async function listChannels(deps: Deps, orgId: string, customerId?: string): Promise<ChannelView[]> {
  if (customerId !== undefined && !isId(customerId)) return [];
  return (await channelsOfOrg(deps.sql, orgId, customerId)).map((row) => viewOfChannel(deps, row));
}

/** One channel, or 404. */
export const getChannel = async (deps: Deps, orgId: string, id: string): Promise<ChannelView> =>
  viewOfChannel(deps, await getChannelRow(deps, orgId, id));

/** The rows of those channels that are there, for whoever judges a post. */
export const findChannels = (
  { sql }: Pick<Deps, 'sql'>,
  orgId: string,
  ids: readonly string[],
): Promise<ChannelRow[]> => channelsById(sql, orgId, ids.filter(isId));

/** The adapter of the version that a channel is pinned to; undefined where it is no longer registered. */
export const adapterOfChannel = (
  { providers }: Pick<Deps, 'providers'>,
  row: Pick<ChannelRow, 'providerId' | 'providerVersion'>,
): SocialAdapter | undefined =>
  providers.list('social').find(({ id, version }) => id === row.providerId && version === row.providerVersion);

const viewOfChannel = (deps: Pick<Deps, 'clock' | 'providers'>, row: ChannelRow): ChannelView => ({
  ...row,
  adapter: adapterOfChannel(deps, row),
  tokenDaysLeft: daysLeft(row.tokenExpiresAt, deps.clock.now()),
});
