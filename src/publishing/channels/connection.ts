import type { Database } from '../../platform/db/index.ts';
import { AppError, type Clock, newId, ProviderError, type Vault } from '../../platform/kernel/index.ts';
import type { Egress } from '../egress/index.ts';
import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { Limits, Providers, Social, SocialAdapter, Tokens } from '../../providers/registry/index.ts';
import { type Credentials, openCredentials, sealCredentials } from './credentials.ts';
import { isExpired, isExpiring, loginExpiry } from './rules.ts';
import * as store from './store.ts';

const CLAIM_MS = 60_000; // a process that dies while it renews holds the others up for so long
const PATIENCE_MS = 20_000;
const LOOK_MS = 100;

/** What is known of a channel without asking the database again. */
export interface Snapshot {
  providerId: string;
  providerVersion: string;
  credentials: string;
  settings: Readonly<Record<string, unknown>>;
  /** The route that its calls take; null: the open route. */
  routeId: string | null;
}

/** A connected channel with a fresh token. */
export interface Connected {
  social: Social;
  once: SocialAdapter['once'];
  /**
   * Provider, origin and route, such as `mastodon https://a.example`: what hangs there holds only the calls of this
   * lane.
   */
  lane: string;
  timeoutMs?: number | undefined;
  settlesWithinMs?: number | undefined;
  processesWithinMs?: number | undefined;
}
/** What a network takes. */
export interface NetworkRules {
  title: string;
  limits: Limits;
  checkSettings(settings: unknown, at: string): void;
}

/** Stops a channel until a person logs in again; true when this call did it. */
export type NeedsLogin = (orgId: string, channelId: string, reason: string, seen?: string) => Promise<boolean>;
interface Deps {
  sql: Database;
  clock: Clock;
  vault: Vault;
  providers: Providers;
  egress: Pick<Egress, 'open'>;
  needsLogin: NeedsLogin;
}
/** A channel that is being opened. Whatever is asked of its network goes over this route; undefined: the open one. */
interface Target {
  orgId: string;
  channelId: string;
  adapter: SocialAdapter;
  egressRoute: EgressRoute | undefined;
}
interface Opened {
  sealed: string;
  credentials: Credentials;
}
const needsPerson = (message = 'The channel needs a new login') => new ProviderError('reauthorize', message);
const isRefusal = (error: unknown) => error instanceof ProviderError && error.failure === 'reauthorize';

/** Whether the service can log in again by itself, with the fields that a person typed. */
export const signsIn = ({ login }: SocialAdapter): boolean =>
  login.kind === 'credentials' && (login.signIn !== undefined || login.refresh !== undefined);
const canRenew = (adapter: SocialAdapter, { tokens }: Credentials) =>
  adapter.login.kind === 'credentials' ? signsIn(adapter) : tokens?.refreshToken !== undefined;

/** Opens channels for use: tokens are renewed before they expire and when they are refused, one renewal at a time. */
export function openConnections({ sql, clock, vault, providers, egress, needsLogin }: Deps) {
  /** Renewals under way in this process, by the sealed text that they replace. */
  const underWay = new Map<string, Promise<Opened>>();
  const opened = (sealed: string): Opened => ({ sealed, credentials: openCredentials(vault, sealed) });

  async function freshTokens({ adapter, egressRoute }: Target, { values, tokens, app }: Credentials): Promise<Tokens> {
    try {
      const renewed = tokens && (await providers.refresh(adapter, { values, tokens, app, egressRoute }));
      if (renewed) return tokens.values && !renewed.values ? { ...renewed, values: tokens.values } : renewed;
    } catch (error) {
      // else the fields themselves may still be good
      if (!isRefusal(error) || adapter.login.kind !== 'credentials' || !adapter.login.signIn) throw error;
    }
    const signed = await providers.signIn(adapter, values, egressRoute);
    if (!signed) throw needsPerson(`${adapter.title}: the login has ended`);
    return signed;
  }

  /** The login as another process or a person left it; undefined: it is still the one in `seen`. */
  async function replacement({ orgId, channelId }: Target, seen: Opened): Promise<Opened | undefined> {
    const row = await store.sealedOf(sql, orgId, channelId);
    if (!row) throw new ProviderError('rejected', 'The channel was deleted');
    if (row.refreshNeeded) throw needsPerson();
    return row.credentials === seen.sealed ? undefined : opened(row.credentials);
  }

  /** Claims the renewal, or answers what the one who holds the claim makes of it. */
  async function claimOr(target: Target, seen: Opened, claim: string): Promise<Opened | undefined> {
    const end = clock.monotonic() + PATIENCE_MS;
    while (!(await store.claimRenewal(sql, target.orgId, target.channelId, seen.sealed, claim, CLAIM_MS))) {
      const other = await replacement(target, seen);
      if (other) return other;
      if (clock.monotonic() >= end)
        throw new ProviderError('unavailable', 'The login of this channel is being renewed');
      await clock.sleep(LOOK_MS);
    }
    return undefined;
  }

  async function renewOnce(target: Target, seen: Opened): Promise<Opened> {
    const { orgId, channelId } = target;
    const claim = newId();
    const other = await claimOr(target, seen, claim);
    if (other) return other;
    try {
      const credentials = {
        ...seen.credentials,
        tokens: await freshTokens(target, seen.credentials),
        grantedAt: clock.now(),
      };
      const fresh = { sealed: sealCredentials(vault, credentials), credentials };
      const saved = await store.saveRenewal(sql, orgId, channelId, seen.sealed, {
        credentials: fresh.sealed,
        tokenExpiresAt: loginExpiry(credentials, signsIn(target.adapter)),
      });
      return saved ? fresh : ((await replacement(target, seen)) ?? fresh);
    } catch (error) {
      if (isRefusal(error)) {
        if (await needsLogin(orgId, channelId, error instanceof Error ? error.message : '', seen.sealed)) throw error;
        const newer = await replacement(target, seen);
        if (newer) return newer;
      } else await store.releaseRenewal(sql, orgId, channelId, claim);
      throw error;
    }
  }

  /** New tokens in place of those in `seen`, once for all who ask. */
  function renew(target: Target, seen: Opened): Promise<Opened> {
    const running = underWay.get(seen.sealed);
    if (running) return running;
    const renewal = renewOnce(target, seen).finally(() => underWay.delete(seen.sealed));
    underWay.set(seen.sealed, renewal);
    return renewal;
  }

  /** The login with a token that lasts. A fault of the line does not matter while the old one is still good. */
  async function usable(target: Target, given: Opened): Promise<Opened> {
    const { adapter, orgId, channelId } = target;
    if (!isExpiring(given.credentials, clock.now())) return given;
    if (canRenew(adapter, given.credentials)) {
      try {
        return await renew(target, given);
      } catch (error) {
        if (isRefusal(error) || isExpired(given.credentials, clock.now())) throw error;
        return given;
      }
    }
    if (!isExpired(given.credentials, clock.now())) return given;
    await needsLogin(orgId, channelId, 'The login has expired', given.sealed);
    throw needsPerson('The login of this channel has expired');
  }

  async function snapshotOf(orgId: string, channelId: string): Promise<Snapshot> {
    const row = await store.sealedOf(sql, orgId, channelId);
    if (!row) throw new ProviderError('rejected', 'The channel was deleted');
    if (row.refreshNeeded) throw needsPerson();
    return row;
  }

  function adapterOf({ providerId, providerVersion }: Snapshot): SocialAdapter {
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

  return {
    async connect(orgId: string, channelId: string, snapshot?: Snapshot, ended?: AbortSignal): Promise<Connected> {
      const channel = snapshot ?? (await snapshotOf(orgId, channelId));
      const adapter = adapterOf(channel);
      const egressRoute = channel.routeId === null ? undefined : await egress.open(orgId, channel.routeId);
      const target = { orgId, channelId, adapter, egressRoute };
      let current = await usable(target, opened(channel.credentials));
      const { values, account, tokens } = current.credentials;
      let forced = false;
      const renewNow = async () => {
        forced = true;
        current = await renew(target, current);
        if (!current.credentials.tokens) throw needsPerson();
        return current.credentials.tokens;
      };
      const social = providers.connect(adapter, {
        values,
        account,
        tokens,
        egressRoute,
        ended,
        renew: canRenew(adapter, current.credentials) ? renewNow : undefined,
      });
      return {
        social: confirming(
          social,
          () => forced,
          (reason) => needsLogin(orgId, channelId, reason, current.sealed),
        ),
        once: adapter.once,
        lane: [adapter.id, originOf({ ...values, ...tokens?.values }), channel.routeId ?? ''].join(' ').trim(),
        timeoutMs: adapter.timeoutMs,
        settlesWithinMs: adapter.settlesWithinMs,
        processesWithinMs: adapter.processesWithinMs,
      };
    },
  };
}

/** The server that a login names, where the network has many. */
function originOf(values: Readonly<Record<string, string>>): string {
  const url = Object.values(values).find((value) => /^https?:/.test(value) && URL.canParse(value));
  return url === undefined ? '' : new URL(url).origin;
}

/**
 * When a refused login is believed (S137): after a forced renewal at once; where there is nothing to renew, only when
 * the network refuses to say who we are, too. Otherwise it was this one request that was refused.
 */
function confirming(social: Social, wasRenewed: () => boolean, lost: (reason: string) => Promise<unknown>): Social {
  const checked = async <R>(call: () => Promise<R>): Promise<R> => {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ProviderError) || error.failure !== 'reauthorize') throw error;
      const profile = wasRenewed()
        ? error
        : await social.profile().then(
            () => undefined,
            (cause: unknown) => cause,
          );
      if (profile === undefined) throw new ProviderError('rejected', error.message, { cause: error });
      if (!isRefusal(profile)) throw new ProviderError('unavailable', error.message, { cause: error });
      await lost(error.message);
      throw error;
    }
  };
  return {
    ...social,
    publish: (post, settings, handle) => checked(() => social.publish(post, settings, handle)),
    ...(social.find && {
      find: (...call: Parameters<NonNullable<Social['find']>>) => checked(() => social.find!(...call)),
    }),
    ...(social.remove && {
      remove: (...call: Parameters<NonNullable<Social['remove']>>) => checked(() => social.remove!(...call)),
    }),
  };
}
