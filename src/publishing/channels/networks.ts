import { AppError } from '../../platform/kernel/index.ts';
import { checkSettings, type Limits, type SocialAdapter } from '../../providers/registry/index.ts';
import { appsOfOrg, isConnectable } from './apps.ts';
import type { NetworkRules } from '../posts/index.ts';
import { type ChannelsDeps, getChannelRow } from './deps.ts';
import { stripsLinks, writerFor } from './rules.ts';
import { limitsOfChannel, type ServerLimits } from './server-limits.ts';

export interface PostingRules {
  adapter: SocialAdapter;
  /** Those of its server, where it has some. */
  limits: Limits;
  /** Its posts go out without links. */
  stripsLinks: boolean;
}

type NetworkDeps = Pick<ChannelsDeps, 'providers' | 'settings'>;

/**
 * Lists the networks that an organization can connect: those without an app, and those whose app it or the operator has
 * (S128).
 */
export const listNetworks = async (deps: NetworkDeps, orgId: string): Promise<SocialAdapter[]> =>
  (await newestOfEach(deps, orgId)).toSorted((a, b) => a.title.localeCompare(b.title, 'en'));

/** Whether `begin` needs more than the network's name, or is not possible at all. */
export const canBeginAlone = async (deps: NetworkDeps, orgId: string, providerId: string): Promise<boolean> =>
  (await newestOfEach(deps, orgId)).some(
    ({ id, login }) =>
      id === providerId && (login.kind === 'approval' || (login.kind === 'oauth2' && !login.registerApp)),
  );

/** How to write for a channel (public `integration-settings`). */
export async function rulesOfChannel(
  deps: Pick<ChannelsDeps, 'sql' | 'providers' | 'stripLinksFrom'>,
  orgId: string,
  id: string,
): Promise<PostingRules> {
  const { providerId, providerVersion, serverLimits } = await getChannelRow(deps, orgId, id);
  const adapter = deps.providers.resolve('social', providerId, { version: providerVersion, use: 'pinned' });
  return postingRules(deps, adapter, serverLimits);
}

/** The same for a network, or for a `server` of it. */
export const postingRules = (
  deps: Pick<ChannelsDeps, 'stripLinksFrom'>,
  adapter: SocialAdapter,
  server: ServerLimits | null = null,
): PostingRules => ({
  adapter,
  limits: limitsOfChannel(adapter.limits, server),
  stripsLinks: stripsLinks(deps, adapter.id),
});

/**
 * What a network takes, or a `server` of it. Throws `AppError` for a provider or version that is not registered or
 * retired.
 */
export function rulesOfNetwork(
  deps: Pick<ChannelsDeps, 'providers' | 'stripLinksFrom'>,
  providerId: string,
  providerVersion: string,
  server: ServerLimits | null = null,
): NetworkRules {
  const adapter = deps.providers.resolve('social', providerId, { version: providerVersion, use: 'pinned' });
  return {
    title: adapter.title,
    limits: limitsOfChannel(adapter.limits, server),
    threads: adapter.threads,
    commentLimits: adapter.comment?.limits,
    commentsUnless: adapter.comment?.unless,
    repostsUnless: adapter.repost?.unless,
    write: writerFor(deps, adapter),
    fileSettings: adapter.fileSettings,
    hasComments: adapter.comment !== undefined,
    postPlugs: (adapter.plugs ?? []).filter((plug) => plug.kind === 'post'),
    pace: adapter.pace ?? [],
    checkSettings: (settings, at) => checkSettings(adapter, settings, at),
  };
}

/** Whether posts of a network can be commented on by their channel; false for one that is not registered. */
export const hasComments = (
  { providers }: Pick<ChannelsDeps, 'providers'>,
  providerId: string,
  providerVersion: string,
): boolean =>
  providers.list('social').find(({ id, version }) => id === providerId && version === providerVersion)?.comment !==
  undefined;

/**
 * The networks that posts are prepared at before they are published, each as `id@version`; `behind`: those of them that
 * need no item of a thread to be out for the steps of the next one. `fileSettings`: the settings of any network that
 * name a file.
 */
export function networksThatPrepare({ providers }: Pick<ChannelsDeps, 'providers'>) {
  const networks = providers.list('social');
  const all = networks.filter(({ capabilities }) => capabilities.includes('prepare'));
  const namesOf = (some: typeof all) => some.map(({ id, version }) => `${id}@${version}`);
  return {
    networks: namesOf(all),
    behind: namesOf(all.filter(({ prepareReply }) => !prepareReply)),
    fileSettings: networks.flatMap(({ id, version, fileSettings = [] }) =>
      fileSettings.map((setting) => ({ network: `${id}@${version}`, setting })),
    ),
  };
}

/** The version of each network that a new channel would get, previews included (S243). */
async function newestOfEach(deps: NetworkDeps, orgId: string): Promise<SocialAdapter[]> {
  const { providers } = deps;
  const own = await appsOfOrg(deps, orgId);
  const ids = [...new Set(providers.list('social').map(({ id }) => id))];
  return ids.flatMap((id) => {
    try {
      const adapter = providers.resolve('social', id, { allowPreview: true });
      return isConnectable(deps, adapter, own.get(id)) ? [adapter] : [];
    } catch (error) {
      if (error instanceof AppError) return []; // only retired or deprecated versions
      throw error;
    }
  });
}
