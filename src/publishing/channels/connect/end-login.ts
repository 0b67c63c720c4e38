import { AppError, invalidField, ProviderError, sha256 } from '../../../platform/kernel/index.ts';
import type { EgressRoute } from '../../../platform/outbound/index.ts';
import type { SocialAdapter, Tokens } from '../../../providers/registry/index.ts';
import { redirectOf } from '../apps.ts';
import { saveOrAsk, type SavedAccount } from './choose-page.ts';
import { openLogin, type PendingLogin } from '../credentials.ts';
import type { ChannelsOptions } from '../deps.ts';
import { findState, type NewState, type StateKey, takeState } from './logins.ts';
import { channelToRefresh, type Person, versionFor } from './login-channel.ts';
import { typedFields } from '../rules.ts';
import { type ChannelConnector, otherAccount, tried } from './save-account.ts';

export interface Complete {
  code?: string | undefined;
  state?: string | undefined;
  /** Further parameters with which the network sent the person back, such as `device_id` or `error`. */
  callback?: Readonly<Record<string, string>> | undefined;
  fields?: Record<string, unknown> | undefined;
  refresh?: string | undefined;
  allowPreview?: boolean | undefined;
}
export interface Completed extends SavedAccount {
  returnUrl: string | null;
}
type CompleteDeps = Omit<ChannelsOptions, 'events' | 'outbound'>;
const noSuchChannel = () => invalidField('refresh', 'there is no such channel', 'unknown_id');

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
  return { ...(await saveOrAsk(deps, person, { adapter, values, tokens, egressRoute }, refresh)), returnUrl: null };
}

/** The state that a call names. */
function stateOf(
  { orgId, userId }: Person,
  providerId: string,
  { code, state, callback }: Complete,
  needsCode: boolean,
): StateKey {
  if (needsCode && !code && !callback?.['error'])
    throw invalidField('code', 'is needed; the network sends it after consent', 'required');
  if (!state) throw invalidField('state', 'is needed', 'required');
  return { orgId, userId, providerId, stateHash: sha256(state) };
}

/** Reads, or uses up, the state of a login that this person began. */
async function loginBy(read: typeof takeState, { sql }: Pick<CompleteDeps, 'sql'>, key: StateKey): Promise<NewState> {
  const begun = await read(sql, key);
  if (!begun)
    throw new AppError(
      'invalid_request',
      'This login was used before, took longer than an hour, or was begun elsewhere: start again',
      { provider: key.providerId },
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
  const key = stateOf(person, providerId, call, needsCode);
  const begun = await loginBy(needsCode ? takeState : findState, deps, key);
  const adapter = deps.providers.resolve('social', providerId, { version: begun.providerVersion, use: 'pinned' });
  const channelId = begun.refreshChannelId ?? call.refresh;
  if (call.refresh !== undefined && begun.refreshChannelId !== null && call.refresh !== begun.refreshChannelId)
    throw otherAccount();
  const channel =
    channelId === undefined ? undefined : await channelToRefresh(deps, person.orgId, providerId, channelId);
  if (channelId !== undefined && !channel) throw noSuchChannel();
  const pending = openLogin(deps.vault, begun.sealed);
  const egressRoute = await deps.egress.egressRouteOf(person.orgId, channelId);
  // An approval is asked for again and again, by several pages at once: its state is used up when it is over. A code is
  // good for one try.
  const isAsked = adapter.login.kind === 'approval';
  if (!needsCode && !isAsked) await loginBy(takeState, deps, key);
  const tokens = await tokensOf(deps, adapter, pending, call, egressRoute).catch(async (error: unknown) => {
    if (isAsked && !(error instanceof ProviderError)) await takeState(deps.sql, key);
    throw error;
  });
  if (!tokens)
    throw new AppError('conflict', `${adapter.title} waits for your approval: approve there, and ask again`, {
      provider: providerId,
      pending: true,
    });
  if (isAsked) await loginBy(takeState, deps, key);
  const { values, app } = pending;
  const login = { adapter, values, app, tokens, egressRoute };
  return { ...(await saveOrAsk(deps, person, login, channel)), returnUrl: begun.returnUrl };
}

/** The ways in which people log in to a network, over its versions. */
const loginsOf = ({ providers }: Pick<CompleteDeps, 'providers'>, providerId: string) =>
  providers.list('social').flatMap(({ id, login }) => (id === providerId ? [login.kind] : []));
/** A login by typed fields needs no state, and looks at none. */
const isTyped = (kinds: readonly SocialAdapter['login']['kind'][]) => kinds.every((kind) => kind === 'credentials');

/**
 * Whether a call ends a login that is to be that of a channel which is there; undefined: it ends none, as its state is
 * not known.
 */
export async function isForChannel(
  deps: Pick<CompleteDeps, 'sql' | 'providers'>,
  { orgId, userId }: Person,
  providerId: string,
  { state, refresh }: Pick<Complete, 'state' | 'refresh'>,
): Promise<boolean | undefined> {
  if (refresh !== undefined || !state || isTyped(loginsOf(deps, providerId))) return refresh !== undefined;
  const begun = await findState(deps.sql, { orgId, userId, providerId, stateHash: sha256(state) });
  return begun && begun.refreshChannelId !== null;
}

/** Ends a login: tokens for the code, or the typed fields checked at the network; then the channel is written. */
export async function endLogin(
  deps: CompleteDeps,
  person: ChannelConnector,
  providerId: string,
  call: Complete,
): Promise<Completed> {
  const kinds = loginsOf(deps, providerId);
  if (isTyped(kinds)) return byFields(deps, person, providerId, call);
  return byConsent(deps, person, providerId, call, !kinds.includes('approval'));
}
