import { AppError, invalidField, newId, ProviderError, sha256 } from '../../platform/kernel/index.ts';
import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { App, Profile, SocialAdapter, Tokens, Values } from '../../providers/registry/index.ts';
import { redirectOf } from './apps.ts';
import { openLogin, type PendingLogin, sealCredentials } from './credentials.ts';
import type { ChannelsOptions } from './deps.ts';
import { putStateBack, type State, takeState } from './logins.ts';
import { channelToRefresh, type Person, versionFor } from './login-channel.ts';
import { loginExpiry, typedFields } from './rules.ts';
import { saveLogin } from './transitions.ts';

/** Who ends a login: it may be of an account that has a channel already, which is a change of that channel. */
export interface ChannelConnector extends Person {
  mayUpdate: boolean;
}
export interface Complete {
  code?: string | undefined;
  state?: string | undefined;
  /** Further parameters with which the network sent the person back, such as `device_id` or `error`. */
  callback?: Readonly<Record<string, string>> | undefined;
  fields?: Record<string, unknown> | undefined;
  refresh?: string | undefined;
  allowPreview?: boolean | undefined;
}
export interface Completed {
  id: string;
  created: boolean;
  returnUrl: string | null;
}
type CompleteDeps = Omit<ChannelsOptions, 'events' | 'outbound'>;
interface Account {
  values: Values;
  app?: App | undefined;
  tokens?: Tokens | undefined;
}

const otherAccount = () =>
  new AppError('conflict', 'This is another account: log in with the account of the channel, or connect a new channel');
const noSuchChannel = () => invalidField('refresh', 'refresh: there is no such channel', 'unknown_id');

/**
 * Answers what a failed login means for the person who tries it: their input (400 with the network's name), or a fault
 * of the line.
 */
function asLoginError(adapter: SocialAdapter, error: unknown): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.failure === 'unavailable' || error.failure === 'lost' || error.failure === 'rate_limited') return error;
  return new AppError('invalid_request', error.message, { provider: adapter.id }, { cause: error });
}
const tried = <T>(adapter: SocialAdapter, work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw asLoginError(adapter, error);
  });

/** Reads the account, and writes its channel. */
async function save(
  { sql, clock, vault, providers, billing }: CompleteDeps,
  person: ChannelConnector,
  adapter: SocialAdapter,
  account: Account,
  refresh: { internalId: string } | undefined,
  egressRoute: EgressRoute | undefined,
): Promise<{ id: string; created: boolean }> {
  const profile: Profile = await tried(
    adapter,
    providers.connect(adapter, { ...account, account: '', egressRoute }).profile(),
  );
  if (refresh && refresh.internalId !== profile.id) throw otherAccount();
  const credentials = { ...account, account: profile.id, grantedAt: clock.now() };
  const login = {
    newId: newId(),
    providerId: adapter.id,
    providerVersion: adapter.version,
    internalId: profile.id,
    name: profile.name || profile.handle || profile.id,
    handle: profile.handle,
    picture: profile.picture ?? null,
    credentials: sealCredentials(vault, credentials),
    tokenExpiresAt: loginExpiry(credentials, providers.renewalOf(adapter, account.tokens)),
  };
  const saved = await saveLogin(sql, billing, person.orgId, { ...login, mayReplace: person.mayUpdate }, person.by);
  if (saved.full)
    throw new AppError(
      'limit_exceeded',
      `${saved.full.message}. The login was kept, and the channel is disabled`,
      saved.full.extra,
    );
  return saved;
}

async function byFields(
  deps: CompleteDeps,
  person: ChannelConnector,
  providerId: string,
  call: Complete,
): Promise<Completed> {
  const refresh =
    call.refresh === undefined ? undefined : await channelToRefresh(deps, person.orgId, providerId, call.refresh);
  const adapter = versionFor(deps, providerId, refresh, call.allowPreview);
  if (call.refresh !== undefined && !refresh) throw noSuchChannel();
  const values = deps.providers.fields(adapter, typedFields(call), 'fields.');
  const egressRoute = await deps.egress.egressRouteOf(person.orgId, call.refresh);
  const tokens = await tried(adapter, deps.providers.signIn(adapter, values, egressRoute));
  return { ...(await save(deps, person, adapter, { values, tokens }, refresh, egressRoute)), returnUrl: null };
}

/** Uses up the state of a login that this person began. */
async function takeLogin(
  { sql }: CompleteDeps,
  { orgId, userId }: Person,
  providerId: string,
  { code, state, callback }: Complete,
  needsCode: boolean,
): Promise<State> {
  if (needsCode && !code && !callback?.['error'])
    throw invalidField('code', 'code: is needed; the network sends it after consent', 'required');
  if (!state) throw invalidField('state', 'state: is needed', 'required');
  const begun = await takeState(sql, orgId, userId, providerId, sha256(state));
  if (!begun)
    throw new AppError(
      'invalid_request',
      'This login was used before, took longer than an hour, or was begun elsewhere: start again',
      { provider: providerId },
    );
  return begun;
}

/** Answers the tokens of a consent; undefined while an approval is waited for. */
async function tokensOf(
  deps: CompleteDeps,
  adapter: SocialAdapter,
  { values, app, kept }: PendingLogin,
  { code = '', state, callback = {} }: Complete,
  egressRoute: EgressRoute | undefined,
): Promise<Tokens | undefined> {
  const refusal = callback['error'];
  if (refusal !== undefined && !code)
    throw new AppError(
      'invalid_request',
      `${adapter.title} gave no access (${refusal.replace(/[^\w.-]/g, ' ').slice(0, 100)}): connect again, and agree there`,
      { provider: adapter.id },
    );
  const step = { app, values, kept, callback, egressRoute };
  return tried(
    adapter,
    adapter.login.kind === 'approval'
      ? deps.providers.poll(adapter, step)
      : deps.providers.exchange(adapter, { ...step, code, state, redirectUri: redirectOf(deps, adapter.id) }),
  );
}

async function byConsent(
  deps: CompleteDeps,
  person: ChannelConnector,
  providerId: string,
  call: Complete,
  needsCode: boolean,
): Promise<Completed> {
  const begun = await takeLogin(deps, person, providerId, call, needsCode);
  const adapter = deps.providers.resolve('social', providerId, { version: begun.providerVersion, use: 'pinned' });
  const channelId = begun.refreshChannelId ?? call.refresh;
  if (call.refresh !== undefined && begun.refreshChannelId !== null && call.refresh !== begun.refreshChannelId)
    throw otherAccount();
  const channel =
    channelId === undefined ? undefined : await channelToRefresh(deps, person.orgId, providerId, channelId);
  if (channelId !== undefined && !channel) throw noSuchChannel();
  const pending = openLogin(deps.vault, begun.sealed);
  const egressRoute = await deps.egress.egressRouteOf(person.orgId, channelId);
  const tokens = await tokensOf(deps, adapter, pending, call, egressRoute).catch(async (error: unknown) => {
    if (adapter.login.kind === 'approval' && error instanceof ProviderError) await putStateBack(deps.sql, begun);
    throw error;
  });
  if (!tokens) {
    await putStateBack(deps.sql, begun);
    throw new AppError('conflict', `${adapter.title} waits for your approval: approve there, and ask again`, {
      provider: providerId,
      pending: true,
    });
  }
  const { values, app } = pending;
  return {
    ...(await save(deps, person, adapter, { values, app, tokens }, channel, egressRoute)),
    returnUrl: begun.returnUrl,
  };
}

/** Ends a login: tokens for the code, or the typed fields checked at the network; then the channel is written. */
export async function endLogin(
  deps: CompleteDeps,
  person: ChannelConnector,
  providerId: string,
  call: Complete,
): Promise<Completed> {
  const kinds = deps.providers.list('social').flatMap(({ id, login }) => (id === providerId ? [login.kind] : []));
  if (kinds.some((kind) => kind !== 'credentials'))
    return byConsent(deps, person, providerId, call, !kinds.includes('approval'));
  return byFields(deps, person, providerId, call);
}
