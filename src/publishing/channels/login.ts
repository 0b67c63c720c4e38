import type { AuditActor } from '../../platform/audit/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Egress } from '../egress/index.ts';
import {
  AppError,
  type Clock,
  invalidField,
  isId,
  newId,
  notFound,
  ProviderError,
  randomBase64url,
  sha256,
  type Vault,
} from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError, type EgressRoute } from '../../platform/outbound/index.ts';
import type { App, Profile, Providers, SocialAdapter, Tokens } from '../../providers/registry/index.ts';
import { openLogin, sealCredentials, sealLogin } from './credentials.ts';
import { insertState, registeredApp, saveApp, takeState } from './logins.ts';
import { saveLogin } from './transitions.ts';
import { checkReturnUrl, loginExpiry, typedFields } from './rules.ts';
import * as store from './store.ts';

const STATE_MS = 3_600_000;
/** Servers forget apps that nobody used, some after a day: an older one is registered anew. */
const APP_MS = 12 * 3_600_000;

/** Who connects, and for which organization. */
export interface Person {
  orgId: string;
  userId: string;
  /** For the audit log. */
  by?: AuditActor | undefined;
}
/** Who ends a login: it may be of an account that has a channel already, which is a change of that channel. */
export interface ChannelConnector extends Person {
  mayUpdate: boolean;
}
export interface Begin {
  refresh?: string | undefined;
  externalUrl?: string | undefined;
  returnUrl?: string | undefined;
  allowPreview?: boolean | undefined;
}
export interface Complete {
  code?: string | undefined;
  state?: string | undefined;
  fields?: Record<string, unknown> | undefined;
  refresh?: string | undefined;
  allowPreview?: boolean | undefined;
}
export interface Completed {
  id: string;
  created: boolean;
  returnUrl: string | null;
}

interface Deps {
  sql: Database;
  clock: Clock;
  vault: Vault;
  providers: Providers;
  outbound: Pick<Outbound, 'judge'>;
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
  egress: Pick<Egress, 'egressRouteOf'>;
  frontendUrl: string;
  returnUrlAllowlist: readonly string[];
  /** Whether the service renews the login without a person, refresh token or not. */
  signsIn: (adapter: SocialAdapter) => boolean;
}
interface Account {
  values: Readonly<Record<string, string>>;
  app?: App | undefined;
  tokens?: Tokens | undefined;
}

const otherAccount = () =>
  new AppError('conflict', 'This is another account: log in with the account of the channel, or connect a new channel');
/**
 * What a failed login means for the person who tries it: their input (400 with the network's name), or a fault of the
 * line.
 */
function asLoginError(adapter: SocialAdapter, error: unknown, extra: Record<string, unknown> = {}): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.failure === 'unavailable' || error.failure === 'lost' || error.failure === 'rate_limited') return error;
  return new AppError('invalid_request', error.message, { provider: adapter.id, ...extra }, { cause: error });
}

/** Connecting channels: by consent at the network, or by fields typed in here. */
export function openLogins({
  sql,
  clock,
  vault,
  providers,
  outbound,
  billing,
  egress,
  frontendUrl,
  returnUrlAllowlist,
  signsIn,
}: Deps) {
  const redirectOf = (providerId: string) => `${frontendUrl}/integrations/social/${providerId}`;

  /** The channel that is to get a new login; of another network or organization, it is unknown. */
  async function channelToRefresh(
    orgId: string,
    providerId: string,
    id: string,
  ): Promise<store.ChannelAccount | undefined> {
    const account = isId(id) ? await store.accountOf(sql, orgId, id) : undefined;
    return account?.providerId === providerId ? account : undefined;
  }
  /**
   * A channel that gets a new login keeps its version while that works (VE18); whatever is connected anew gets the
   * newest.
   */
  function versionFor(
    providerId: string,
    channel: store.ChannelAccount | undefined,
    allowPreview: boolean | undefined,
  ): SocialAdapter {
    const kept =
      channel &&
      providers.list('social').find(({ id, version }) => id === providerId && version === channel.providerVersion);
    return kept && providers.status(kept) !== 'retired'
      ? kept
      : providers.resolve('social', providerId, { allowPreview });
  }

  /** The app to log in with: the operator's, else one that is registered at the server and kept for a while. */
  async function appFor(
    adapter: SocialAdapter,
    values: Readonly<Record<string, string>>,
    egressRoute: EgressRoute | undefined,
  ): Promise<App> {
    const own = providers.ownApp(adapter, values);
    if (own) return own;
    const redirectUri = redirectOf(adapter.id);
    const key = { providerId: adapter.id, server: Object.values(values)[0] ?? '', redirectUri };
    const known = await registeredApp(sql, key, APP_MS);
    if (known) return { clientId: known.clientId, clientSecret: vault.open(known.clientSecret) };
    const app = await providers.registerApp(adapter, values, redirectUri, egressRoute);
    if (!app)
      throw new AppError(
        'invalid_request',
        `${adapter.title} cannot be connected here: the operator has not set its app credentials`,
        {
          provider: adapter.id,
        },
      );
    await saveApp(
      sql,
      { ...key, providerVersion: adapter.version },
      { clientId: app.clientId, clientSecret: vault.seal(app.clientSecret) },
    );
    return app;
  }

  /** The fields of a consent login: of a network with many servers, the one that the person named. */
  function serverFields(adapter: SocialAdapter, externalUrl: string | undefined): Readonly<Record<string, string>> {
    const { login } = adapter;
    if (login.kind !== 'oauth2' || !login.registerApp) return providers.fields(adapter, {});
    const field = Object.keys(adapter.credentials)[0]!;
    if (externalUrl === undefined || externalUrl === '')
      throw new AppError('invalid_request', 'externalUrl: the address of the server is needed', {
        err: true,
        errors: [{ field: 'externalUrl', message: 'externalUrl: is needed', rule: 'required' }],
      });
    const address = /^[a-z][a-z0-9+.-]*:/i.test(externalUrl) ? externalUrl : `https://${externalUrl}`;
    if (!URL.canParse(address))
      throw new AppError('validation_failed', 'externalUrl: is not the address of a server', {
        err: true,
        errors: [
          { field: 'externalUrl', message: 'externalUrl: is not the address of a server', rule: 'invalid_format' },
        ],
      });
    try {
      return providers.fields(adapter, { [field]: outbound.judge(address).origin });
    } catch (error) {
      throw error instanceof OutboundError ? error.ofField('externalUrl') : error;
    }
  }

  async function save(
    person: ChannelConnector,
    adapter: SocialAdapter,
    account: Account,
    refresh: { internalId: string } | undefined,
    egressRoute: EgressRoute | undefined,
  ): Promise<{ id: string; created: boolean }> {
    let profile: Profile;
    try {
      profile = await providers
        .connect(adapter, { values: account.values, account: '', tokens: account.tokens, egressRoute })
        .profile();
    } catch (error) {
      throw asLoginError(adapter, error);
    }
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
      tokenExpiresAt: loginExpiry(credentials, signsIn(adapter)),
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

  async function byFields(person: ChannelConnector, providerId: string, call: Complete): Promise<Completed> {
    const refresh =
      call.refresh === undefined ? undefined : await channelToRefresh(person.orgId, providerId, call.refresh);
    const adapter = versionFor(providerId, refresh, call.allowPreview);
    if (call.refresh !== undefined && !refresh)
      throw invalidField('refresh', 'refresh: there is no such channel', 'unknown_id');
    const values = providers.fields(adapter, typedFields(call), 'fields.');
    const egressRoute = await egress.egressRouteOf(person.orgId, call.refresh);
    let tokens: Tokens | undefined;
    try {
      tokens = await providers.signIn(adapter, values, egressRoute);
    } catch (error) {
      throw asLoginError(adapter, error);
    }
    return { ...(await save(person, adapter, { values, tokens }, refresh, egressRoute)), returnUrl: null };
  }

  async function byConsent(
    person: ChannelConnector,
    providerId: string,
    { code, state, refresh }: Complete,
  ): Promise<Completed> {
    if (!code) throw invalidField('code', 'code: is needed; the network sends it after consent', 'required');
    if (!state) throw invalidField('state', 'state: is needed', 'required');
    const begun = await takeState(sql, person.orgId, person.userId, providerId, sha256(state));
    if (!begun)
      throw new AppError(
        'invalid_request',
        'This login was used before, took longer than an hour, or was begun elsewhere: start again',
        {
          provider: providerId,
        },
      );
    const adapter = providers.resolve('social', providerId, { version: begun.providerVersion, use: 'pinned' });
    const channelId = begun.refreshChannelId ?? refresh;
    if (refresh !== undefined && begun.refreshChannelId !== null && refresh !== begun.refreshChannelId)
      throw otherAccount();
    const channel = channelId === undefined ? undefined : await channelToRefresh(person.orgId, providerId, channelId);
    if (channelId !== undefined && !channel)
      throw invalidField('refresh', 'refresh: there is no such channel', 'unknown_id');
    const { values, app, verifier } = openLogin(vault, begun.sealed);
    const egressRoute = await egress.egressRouteOf(person.orgId, channelId);
    let tokens: Tokens;
    try {
      tokens = await providers.exchange(adapter, {
        app,
        values,
        redirectUri: redirectOf(providerId),
        code,
        verifier,
        egressRoute,
      });
    } catch (error) {
      throw asLoginError(adapter, error);
    }
    return {
      ...(await save(person, adapter, { values, app, tokens }, channel, egressRoute)),
      returnUrl: begun.returnUrl,
    };
  }

  return {
    /** The address of the consent page, with a state that is good for an hour and once (S130). */
    async begin(
      person: Person,
      providerId: string,
      { refresh, externalUrl, returnUrl, allowPreview }: Begin,
    ): Promise<{ url: string }> {
      const channel = refresh === undefined ? undefined : await channelToRefresh(person.orgId, providerId, refresh);
      const adapter = versionFor(providerId, channel, allowPreview);
      if (adapter.login.kind !== 'oauth2')
        throw new AppError('invalid_request', `${adapter.title} is connected by its fields, not by consent`, {
          provider: adapter.id,
        });
      if (returnUrl !== undefined) checkReturnUrl(returnUrlAllowlist, returnUrl);
      if (refresh !== undefined && !channel) throw notFound('Integration not found');
      const values = serverFields(adapter, externalUrl);
      try {
        const app = await appFor(adapter, values, await egress.egressRouteOf(person.orgId, refresh));
        const state = randomBase64url(32);
        const { url, verifier } = providers.authorize(adapter, {
          app,
          values,
          redirectUri: redirectOf(providerId),
          state,
        });
        await insertState(
          sql,
          {
            stateHash: sha256(state),
            orgId: person.orgId,
            userId: person.userId,
            providerId,
            providerVersion: adapter.version,
            sealed: sealLogin(vault, { values, app, verifier }),
            refreshChannelId: refresh ?? null,
            returnUrl: returnUrl ?? null,
          },
          STATE_MS,
        );
        return { url };
      } catch (error) {
        throw error instanceof ProviderError
          ? new AppError('invalid_request', error.message, { err: true, provider: adapter.id }, { cause: error })
          : error;
      }
    },

    /** Ends a login: tokens for the code, or the typed fields checked at the network; then the channel is written. */
    async complete(person: ChannelConnector, providerId: string, call: Complete): Promise<Completed> {
      const consent = providers
        .list('social')
        .some((adapter) => adapter.id === providerId && adapter.login.kind === 'oauth2');
      if (consent) return byConsent(person, providerId, call);
      return byFields(person, providerId, call);
    },
  };
}
