import { outsideLine } from '../../../platform/content/index.ts';
import type { Sql } from '../../../platform/db/index.ts';
import { AppError, newId, ProviderError } from '../../../platform/kernel/index.ts';
import type { EgressRoute } from '../../../platform/outbound/index.ts';
import type { App, Profile, Social, SocialAdapter, Tokens, Values } from '../../../providers/registry/index.ts';
import { sealCredentials } from '../credentials.ts';
import { checkApp } from '../apps.ts';
import type { ChannelsOptions } from '../deps.ts';
import type { Person } from './login-channel.ts';
import { loginExpiry } from '../rules.ts';
import { saveLogin } from '../transitions/save-login.ts';

/** Who ends a login: it may be of an account that has a channel already, which is a change of that channel. */
export interface ChannelConnector extends Person {
  mayUpdate: boolean;
}
/** A login that has ended well. Calls take this route; undefined: the open one. */
export interface AccountLogin {
  adapter: SocialAdapter;
  values: Values;
  app?: App | undefined;
  tokens?: Tokens | undefined;
  egressRoute: EgressRoute | undefined;
}
export type SaveDeps = Pick<ChannelsOptions, 'sql' | 'clock' | 'vault' | 'providers' | 'billing' | 'followUps'>;

const MOST_NAME = 300;

export const otherAccount = () =>
  new AppError('conflict', 'This is another account: log in with the account of the channel, or connect a new channel');

/**
 * Answers what a failed login means for the person who tries it: their input (400 with the network's name), or a fault
 * of the line.
 */
function asLoginError(adapter: SocialAdapter, error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.failure === 'unavailable' || error.failure === 'lost' || error.failure === 'rate_limited') return error;
  return new AppError('invalid_request', error.message, { provider: adapter.id }, { cause: error });
}
export const tried = <T>(adapter: SocialAdapter, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw asLoginError(adapter, error);
  });

/** Opens an account that is not known yet. */
export const openAccount = (
  { providers }: Pick<SaveDeps, 'providers'>,
  { adapter, values, app, tokens, egressRoute }: AccountLogin,
): Social => providers.connect(adapter, { values, app, tokens, account: '', egressRoute });

/** The id that a new channel gets, and what is to hold in the transaction that writes it. */
interface NewChannel {
  id: string;
  claim(sql: Sql): Promise<void>;
}

/** Reads the account, and writes its channel: that of `refresh`, else the one that the account has, else a new one. */
export async function saveAccount(
  deps: SaveDeps,
  person: ChannelConnector,
  account: AccountLogin,
  refresh?: { internalId: string },
  channel?: NewChannel,
): Promise<{ id: string; created: boolean }> {
  const { sql, clock, vault, providers } = deps;
  const { adapter, values, app, tokens } = account;
  const profile: Profile = await tried(adapter, openAccount(deps, account).profile());
  if (refresh && refresh.internalId !== profile.id) throw otherAccount();
  const handle = outsideLine(profile.handle, MOST_NAME);
  const credentials = { values, app, tokens, account: profile.id, grantedAt: clock.now() };
  const login = {
    newId: channel?.id ?? newId(),
    providerId: adapter.id,
    providerVersion: adapter.version,
    internalId: profile.id,
    name: outsideLine(profile.name, MOST_NAME) || handle || profile.id,
    handle,
    picture: profile.picture ?? null,
    credentials: sealCredentials(vault, credentials),
    tokenExpiresAt: loginExpiry(credentials, providers.renewalOf(adapter, tokens)),
    mayReplace: person.mayUpdate,
    async claim(tx: Sql) {
      await channel?.claim(tx);
      await checkApp(deps, tx, person.orgId, adapter, account);
    },
  };
  const saved = await saveLogin(sql, deps, person.orgId, login, person.by);
  if (saved.full)
    throw new AppError(
      'limit_exceeded',
      `${saved.full.message}. The login was kept, and the channel is disabled`,
      saved.full.extra,
    );
  return saved;
}
