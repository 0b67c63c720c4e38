import { atMost } from '../../../platform/flow/index.ts';
import { choosePage, type WantedPage } from './choose-page.ts';
import { connectChannel } from '../connection.ts';
import type { ChannelsDeps } from '../deps.ts';
import { type Complete, type Completed, endLogin } from './end-login.ts';
import type { ChannelConnector } from './save-account.ts';
import { boundedLimits, type ChannelKey, claimDueServers, keepServerLimits } from '../server-limits.ts';

/** For what a server says of itself: a person waits for it who connects a channel, and other servers do. */
const SERVER_PATIENCE_MS = 5_000;
const SERVERS_AT_A_TIME = 50;

/**
 * Connects a channel by code and state, or by typed fields; the same account is the same channel (S131, S132, S246).
 * Where a page is still to be chosen, there is no channel yet.
 */
export async function completeLogin(
  deps: ChannelsDeps,
  person: ChannelConnector,
  providerId: string,
  call: Complete,
): Promise<Completed> {
  const completed = await endLogin(deps, person, providerId, call);
  if (!completed.choice) await welcome(deps, person, { ...completed, providerId });
  return completed;
}

/** Connects the chosen page of a login as a channel (S133). */
export async function connectPage(
  deps: ChannelsDeps,
  person: ChannelConnector,
  id: string,
  page: WantedPage,
): Promise<{ id: string; created: boolean } | undefined> {
  const connected = await choosePage(deps, person, id, page);
  if (connected) await welcome(deps, person, connected);
  return connected;
}

/** Looks at a channel that has a new login. */
async function welcome(
  deps: ChannelsDeps,
  { orgId }: Pick<ChannelConnector, 'orgId'>,
  { id, created, providerId }: { id: string; created: boolean; providerId: string },
): Promise<void> {
  if (networksWithServers(deps).includes(providerId)) await askServer(deps, { orgId, id });
  deps.events?.channelConnected({ orgId, channelId: id, provider: providerId, again: !created });
}

/** Asks servers again what they take; answers how many. */
export async function askServerLimits(deps: ChannelsDeps, limit: number): Promise<number> {
  const due = await claimDueServers(deps.sql, networksWithServers(deps), Math.min(limit, SERVERS_AT_A_TIME));
  await Promise.all(due.map((channel) => askServer(deps, channel)));
  return due.length;
}

const networksWithServers = ({ providers }: Pick<ChannelsDeps, 'providers'>): string[] => [
  ...new Set(providers.list('social').flatMap((adapter) => (adapter.channelLimits ? [adapter.id] : []))),
];

/** Asks a server what it takes, and keeps it. One that cannot say it in time is asked again by the sweep. */
async function askServer(deps: ChannelsDeps, channel: ChannelKey): Promise<void> {
  const { sql, clock } = deps;
  const asked = async () => {
    const { social } = await connectChannel(deps, channel.orgId, channel.id);
    const limits = await social.channelLimits?.();
    if (limits) await keepServerLimits(sql, channel, boundedLimits(limits));
  };
  await atMost(clock, SERVER_PATIENCE_MS, () => asked().catch(() => undefined));
}
