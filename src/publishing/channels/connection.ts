import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import type { App, Social, SocialAdapter } from '../../providers/registry/index.ts';
import type { Connected } from '../posts/index.ts';
import { writerFor } from './rules.ts';
import { latestApp } from './apps.ts';
import type { Opened } from './credentials.ts';
import type { ChannelsDeps } from './deps.ts';
import { loginOfChannel, sealedOf } from './login-store.ts';
import {
  canRenew,
  isRefusal,
  needsPerson,
  opened,
  renewLogin,
  type RenewalDeps,
  type RenewalTarget,
  usableLogin,
} from './renewal.ts';

/** What is known of a channel without asking the database again. */
export interface Snapshot {
  providerId: string;
  providerVersion: string;
  credentials: string;
  settings: Readonly<Record<string, unknown>>;
  /** The route that its calls take; null: the open route. */
  routeId: string | null;
}

interface ConnectionDeps extends RenewalDeps, Pick<ChannelsDeps, 'sql' | 'needsLogin' | 'stripLinksFrom'> {
  egress: Pick<ChannelsDeps['egress'], 'open'>;
}

async function snapshotOf({ sql }: ConnectionDeps, orgId: string, channelId: string): Promise<Snapshot> {
  const row = await sealedOf(sql, orgId, channelId);
  if (!row) throw new ProviderError('rejected', 'The channel was deleted');
  if (row.refreshNeeded) throw needsPerson();
  return row;
}

export function pinnedAdapter(
  { providers }: Pick<ConnectionDeps, 'providers'>,
  { providerId, providerVersion }: Pick<Snapshot, 'providerId' | 'providerVersion'>,
): SocialAdapter {
  try {
    return providers.resolve('social', providerId, { version: providerVersion, use: 'pinned' });
  } catch (cause) {
    throw new ProviderError(
      'unsupported',
      cause instanceof AppError ? cause.message : `${providerId} is not offered here`,
      { cause },
    );
  }
}

/** A login in use: its token is renewed before it expires and when it is refused, one renewal at a time. */
interface UsedLogin {
  social: Social;
  /** The login as it is now. */
  current(): Opened;
  wasRenewed(): boolean;
}

/** Uses the login of a row, whose sealed text is `sealed`. */
export async function connectLogin(
  deps: RenewalDeps,
  target: RenewalTarget,
  sealed: string,
  ended?: AbortSignal,
): Promise<UsedLogin> {
  const { providers } = deps;
  const { adapter, egressRoute } = target;
  let current = await usableLogin(deps, target, opened(deps, sealed));
  const { values, account, tokens, app } = current.credentials;
  let forced = false;
  const renewNow = async () => {
    forced = true;
    current = await renewLogin(deps, target, current);
    if (!current.credentials.tokens) throw needsPerson();
    return current.credentials.tokens;
  };
  const social = providers.connect(adapter, {
    values,
    account,
    tokens,
    app: latestApp(app, providers.ownApp(adapter, values)),
    egressRoute,
    ended,
    renew: canRenew(deps, adapter, current.credentials) ? renewNow : undefined,
  });
  return { social, current: () => current, wasRenewed: () => forced };
}

/** Opens a channel for use. */
export async function connectChannel(
  deps: ConnectionDeps,
  orgId: string,
  channelId: string,
  snapshot?: Snapshot,
  ended?: AbortSignal,
): Promise<Connected> {
  const { egress } = deps;
  const channel = snapshot ?? (await snapshotOf(deps, orgId, channelId));
  const adapter = pinnedAdapter(deps, channel);
  const egressRoute = channel.routeId === null ? undefined : await egress.open(orgId, channel.routeId);
  const row = loginOfChannel(deps, orgId, channelId);
  const login = await connectLogin(deps, { orgId, row, adapter, egressRoute }, channel.credentials, ended);
  const { values, account, tokens, app } = login.current().credentials;
  return {
    social: confirming(login.social, login.wasRenewed, (reason) => row.lose(reason, login.current().sealed)),
    once: adapter.once,
    commentOnce: adapter.comment?.once,
    repostOnce: adapter.repost?.once,
    write: writerFor(deps, adapter),
    lane: [adapter.id, originOf({ ...values, ...tokens?.values }), channel.routeId ?? ''].join(' ').trim(),
    timeoutMs: adapter.timeoutMs,
    settlesWithinMs: adapter.settlesWithinMs,
    processesWithinMs: adapter.processesWithinMs,
    preparesReplies: adapter.prepareReply !== undefined,
    paces: pacesOf(adapter, account, app),
  };
}

/**
 * An account and an app are counted once, in whatever organizations their channels are; what counts apart has a window
 * of its own, also where that is as long as another.
 */
export const pacesOf = ({ id, pace = [] }: SocialAdapter, account: string, app: App | undefined): Connected['paces'] =>
  pace
    .map(({ per, posts, ms, of }) => {
      const whose = per === 'account' ? account : app?.clientId || app?.consumerKey || '';
      const counted = of === 'comments' ? `${per}:comments` : per;
      return { key: `${id} ${counted} ${ms} ${whose}`, per, posts, ms, of };
    })
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));

/** The server that a login names, where the network has many. */
function originOf(values: Readonly<Record<string, string>>): string {
  const url = Object.values(values).find((value) => /^https?:/.test(value) && URL.canParse(value));
  return url === undefined ? '' : new URL(url).origin;
}

/**
 * Decides when a refused login is believed (S137): after a forced renewal at once; where there is nothing to renew, only
 * when the network refuses to say who we are, too. Otherwise it was this one request that was refused. Holds for every
 * method of an adapter, whatever its name.
 */
function confirming(social: Social, wasRenewed: () => boolean, lost: (reason: string) => Promise<unknown>): Social {
  const checked = async (call: () => unknown): Promise<unknown> => {
    try {
      return await call();
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const refusal = error as ProviderError; // `isRefusal`
      const renewedBefore = wasRenewed();
      const profile = renewedBefore
        ? refusal
        : await social.profile().then(
            () => undefined,
            (cause: unknown) => cause,
          );
      if (profile === undefined)
        // the question itself renewed the token: the refused call had no effect, and is good for another attempt
        throw new ProviderError(wasRenewed() ? 'unavailable' : 'rejected', refusal.message, { cause: error });
      if (!isRefusal(profile)) throw new ProviderError('unavailable', refusal.message, { cause: error });
      await lost(refusal.message);
      throw error;
    }
  };
  const methods = Object.entries(social).map(([name, method]: [string, unknown]) =>
    typeof method !== 'function' || name === 'profile'
      ? [name, method]
      : [name, (...call: unknown[]) => checked(() => (method as (...call: unknown[]) => unknown)(...call))],
  );
  return Object.fromEntries(methods) as Social; // the same methods
}
