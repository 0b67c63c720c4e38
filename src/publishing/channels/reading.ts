import { isId } from '../../platform/kernel/index.ts';
import type { SocialAdapter } from '../../providers/registry/index.ts';
import { type ChoiceRow, findChoice, openChoices } from './connect/choice-store.ts';
import { type ChannelsDeps, getChannelRow } from './deps.ts';
import type { Person } from './connect/login-channel.ts';
import { daysLeft, stripsLinks } from './rules.ts';
import { type ChannelRow, channelsById, channelsOfOrg } from './store.ts';

/** A channel with what is only known beside its row. */
export interface ChannelView extends ChannelRow {
  /** Undefined where its version is no longer registered. */
  adapter: SocialAdapter | undefined;
  /** Whole days; null for a token that does not expire. */
  tokenDaysLeft: number | null;
  /** Its posts go out without links. */
  stripsLinks: boolean;
  /** A page is still to be chosen: there is no channel yet (S133). */
  inBetweenSteps: boolean;
}

type Deps = Pick<ChannelsDeps, 'sql' | 'clock' | 'providers' | 'stripLinksFrom'>;

/** Lists the channels of an organization, of one group when given; an unknown group has none (S262). */
export async function listChannels(deps: Deps, orgId: string, customerId?: string): Promise<ChannelView[]> {
  if (customerId !== undefined && !isId(customerId)) return [];
  return (await channelsOfOrg(deps.sql, orgId, customerId)).map((row) => viewOfChannel(deps, row));
}

/** One channel, or 404. */
export const getChannel = async (deps: Deps, orgId: string, id: string): Promise<ChannelView> =>
  viewOfChannel(deps, await getChannelRow(deps, orgId, id));

/** The channels of an organization, and behind them the logins whose page this person has still to choose. */
export async function listWithChoices(deps: Deps, { orgId, userId }: Person): Promise<ChannelView[]> {
  const [channels, choices] = await Promise.all([listChannels(deps, orgId), openChoices(deps.sql, orgId, userId)]);
  return [...channels, ...choices.map((choice) => viewOfChoice(deps, choice))];
}

/** One channel, or a login whose page this person has still to choose, or 404. */
export async function getWithChoices(deps: Deps, { orgId, userId }: Person, id: string): Promise<ChannelView> {
  const choice = isId(id) ? await findChoice(deps.sql, { orgId, userId, id }) : undefined;
  return choice?.page === null ? viewOfChoice(deps, choice) : getChannel(deps, orgId, id);
}

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

const viewOfChannel = (deps: Omit<Deps, 'sql'>, row: ChannelRow): ChannelView => ({
  ...row,
  adapter: adapterOfChannel(deps, row),
  tokenDaysLeft: daysLeft(row.tokenExpiresAt, deps.clock.now()),
  stripsLinks: stripsLinks(deps, row.providerId),
  inBetweenSteps: false,
});

/** Shows a choice as the channel that it becomes, by the name of its network. */
function viewOfChoice(deps: Pick<Deps, 'providers' | 'stripLinksFrom'>, choice: ChoiceRow): ChannelView {
  const { id, orgId, providerId, providerVersion, createdAt } = choice;
  const adapter = adapterOfChannel(deps, choice);
  return {
    id,
    orgId,
    providerId,
    providerVersion,
    internalId: '',
    name: adapter?.title ?? providerId,
    handle: '',
    picture: null,
    tokenExpiresAt: null,
    settings: {},
    additionalSettings: '[]',
    postingTimes: [],
    customerId: null,
    customerName: null,
    disabled: false,
    refreshNeeded: false,
    serverLimits: null,
    createdAt,
    adapter,
    tokenDaysLeft: null,
    stripsLinks: stripsLinks(deps, providerId),
    inBetweenSteps: true,
  };
}
