import { whileAway } from '../../platform/db/index.ts';
import { newId, ProviderError } from '../../platform/kernel/index.ts';
import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { SocialAdapter, Tokens } from '../../providers/registry/index.ts';
import { appOfChannel } from './apps.ts';
import { type Credentials, type Opened, openCredentials, sealCredentials } from './credentials.ts';
import type { ChannelsDeps } from './deps.ts';
import type { LoginRow } from './login-row.ts';
import { isExpired, isExpiring, loginExpiry } from './rules.ts';

const CLAIM_MS = 60_000; // a process that dies while it renews holds the others up for so long
const PATIENCE_MS = 20_000;
const LOOK_MS = 100;

export type RenewalDeps = Pick<ChannelsDeps, 'clock' | 'vault' | 'providers' | 'settings' | 'underWay'>;
/** A login that is being used. Whatever is asked of its network goes over this route; undefined: the open one. */
export interface RenewalTarget {
  orgId: string;
  row: LoginRow;
  adapter: SocialAdapter;
  egressRoute: EgressRoute | undefined;
}

export const needsPerson = (message = 'The channel needs a new login') => new ProviderError('reauthorize', message);
export const isRefusal = (error: unknown) => error instanceof ProviderError && error.failure === 'reauthorize';
export const opened = ({ vault }: Pick<RenewalDeps, 'vault'>, sealed: string): Opened => ({
  sealed,
  credentials: openCredentials(vault, sealed),
});
export const canRenew = (
  { providers }: Pick<RenewalDeps, 'providers'>,
  adapter: SocialAdapter,
  { tokens }: Credentials,
) => ['apart', 'itself'].includes(providers.renewalOf(adapter, tokens));

/** Asks the network for new tokens: by a refresh token or the token itself, else by the fields that a person typed. */
async function freshTokens(
  deps: RenewalDeps,
  { orgId, adapter, egressRoute }: RenewalTarget,
  credentials: Credentials,
): Promise<{ tokens: Tokens; app: Credentials['app'] }> {
  const { providers } = deps;
  const { values, tokens } = credentials;
  const app = await appOfChannel(deps, orgId, adapter, credentials);
  try {
    const renewed = tokens && (await providers.refresh(adapter, { values, tokens, app, egressRoute }));
    if (renewed)
      return { app, tokens: tokens.values && !renewed.values ? { ...renewed, values: tokens.values } : renewed };
  } catch (error) {
    // else the fields themselves may still be good
    if (!isRefusal(error) || adapter.login.kind !== 'credentials' || !adapter.login.signIn) throw error;
  }
  const signed = await providers.signIn(adapter, values, egressRoute);
  if (!signed) throw needsPerson(`${adapter.title}: the login has ended`);
  return { app, tokens: signed };
}

/** Answers the login as another process or a person left it; undefined: it is still the one in `seen`. */
async function replacement(deps: RenewalDeps, { row }: RenewalTarget, seen: Opened): Promise<Opened | undefined> {
  const found = await row.find();
  if (!found) throw new ProviderError('rejected', 'The channel was deleted');
  if (found.refreshNeeded) throw needsPerson();
  return found.credentials === seen.sealed ? undefined : opened(deps, found.credentials);
}

/** Claims the renewal, or answers what the one who holds the claim makes of it. */
async function claimOr(
  deps: RenewalDeps,
  target: RenewalTarget,
  seen: Opened,
  claim: string,
): Promise<Opened | undefined> {
  const { clock } = deps;
  const end = clock.monotonic() + PATIENCE_MS;
  while (!(await target.row.claim(seen.sealed, claim, CLAIM_MS))) {
    const other = await replacement(deps, target, seen);
    if (other) return other;
    if (clock.monotonic() >= end) throw new ProviderError('unavailable', 'The login of this channel is being renewed');
    await clock.sleep(LOOK_MS);
  }
  return undefined;
}

/**
 * Renews under a claim over all processes. Nothing stands between the answer of the network and the row: a process that
 * dies there leaves the old refresh token, which the next one tries when the claim ends.
 */
async function renewOnce(deps: RenewalDeps, target: RenewalTarget, seen: Opened): Promise<Opened> {
  const { row } = target;
  const claim = newId();
  const other = await claimOr(deps, target, seen, claim);
  if (other) return other;
  try {
    const { app, tokens } = await freshTokens(deps, target, seen.credentials);
    const credentials = { ...seen.credentials, ...(app && { app }), tokens, grantedAt: deps.clock.now() };
    const fresh = { sealed: sealCredentials(deps.vault, credentials), credentials };
    const saved = await saveTokens(deps, target, seen, {
      credentials: fresh.sealed,
      tokenExpiresAt: loginExpiry(credentials, deps.providers.renewalOf(target.adapter, tokens)),
    });
    return saved ? fresh : ((await replacement(deps, target, seen)) ?? fresh);
  } catch (error) {
    if (isRefusal(error)) {
      if (await row.lose(error instanceof Error ? error.message : '', seen.sealed)) throw error;
      const newer = await replacement(deps, target, seen);
      if (newer) return newer;
    } else await row.release(claim);
    throw error;
  }
}

/**
 * Writes new tokens for as long as the claim holds, while the database is away: a network that takes each refresh token
 * once gives them to nobody a second time. False: other ones stand there, or these, where the answer of a try was lost.
 */
const saveTokens = (
  { clock }: RenewalDeps,
  { row }: RenewalTarget,
  seen: Opened,
  tokens: Parameters<LoginRow['save']>[1],
): Promise<boolean> => whileAway(clock, CLAIM_MS / 2, () => row.save(seen.sealed, tokens)); // the network's answer took of the claim, too

/** Answers new tokens in place of those in `seen`, once for all who ask. */
export function renewLogin(deps: RenewalDeps, target: RenewalTarget, seen: Opened): Promise<Opened> {
  const running = deps.underWay.get(seen.sealed);
  if (running) return running;
  const renewal = renewOnce(deps, target, seen).finally(() => deps.underWay.delete(seen.sealed));
  deps.underWay.set(seen.sealed, renewal);
  return renewal;
}

/** Answers the login with a token that lasts. A fault of the line does not matter while the old one is still good. */
export async function usableLogin(deps: RenewalDeps, target: RenewalTarget, given: Opened): Promise<Opened> {
  const { clock, providers } = deps;
  const { adapter, row } = target;
  const renewal = providers.renewalOf(adapter, given.credentials.tokens);
  if (!isExpiring(given.credentials, renewal, clock.now())) return given;
  if (renewal !== 'none' && !(renewal === 'itself' && isExpired(given.credentials, clock.now()))) {
    try {
      return await renewLogin(deps, target, given);
    } catch (error) {
      if (isRefusal(error) || isExpired(given.credentials, clock.now())) throw error;
      return given;
    }
  }
  if (!isExpired(given.credentials, clock.now())) return given;
  await row.lose('The login has expired', given.sealed);
  throw needsPerson('The login of this channel has expired');
}
