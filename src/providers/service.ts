import { AppError, type Clock, ProviderError } from '../kernel/index.ts';
import type { Outbound } from '../outbound/index.ts';
import { type Domain, TIMEOUT_MS } from './kit/adapter.ts';
import { authorizeUrl, exchangeCode, newVerifier, type OAuth2, refreshGrant, TokenRefusal } from './kit/oauth.ts';
import { fill, openHttp } from './kit/open-http.ts';
import { openSockets } from './kit/open-sockets.ts';
import { redactor } from './kit/redact.ts';
import { type CatalogEntry, presentCatalogEntry } from './present.ts';
import { adapters as registered } from './registry.gen.ts';
import { type AdapterOf, type AnyAdapter, chooseVersion, knownDomain, readFields, type Resolve } from './rules.ts';
import type { App, Social, SocialAdapter, Tokens } from './social/_contract.ts';

export interface ProvidersOptions {
  outbound: Outbound;
  clock: Clock;
  /** Whether the network of our own is registered (`SANDBOX_ENABLED`). */
  sandboxEnabled: boolean;
  /** App credentials of the operator, by provider id; `server` where they belong to one server of many. */
  apps?: Readonly<Record<string, { clientId: string; clientSecret: string; server?: string }>>;
  /** Base URL instead of the declared one, by provider id: the sandbox, and servers of tests. */
  servers?: Readonly<Record<string, string>>;
  /** Of this service, shown to networks where an app is registered. */
  appName?: string;
}

type Values = Readonly<Record<string, string>>;
export interface ConnectOptions {
  /** The checked fields (`fields`). */
  values: Values;
  /** `Profile.id` of the connected account; empty before it is known. */
  account: string;
  tokens?: Tokens | undefined;
  /** Fresh tokens for a channel whose login was refused; asked once for each connection. Should be single flight. */
  renew?: (() => Promise<Tokens>) | undefined;
}

export interface Providers {
  /** The adapters that are registered in this process, of one domain when given. */
  list(domain?: Domain): readonly AnyAdapter[];
  /** One version by the rules of S158: 400 `unknown_version`, 410 `version_retired`, 400 `version_deprecated` or `preview_not_allowed` for a new row. */
  resolve<D extends keyof AdapterOf>(domain: D, id: string, options?: Resolve): AdapterOf[D];
  /** Catalog entries of registered providers, featured ones first, then by name; 400 `unknown_domain`. `featured`: sort order by `domain/id`. */
  catalog(domain?: string, featured?: ReadonlyMap<string, number>): CatalogEntry[];
  /** Checks typed fields against the adapter's declaration: defaults filled in, addresses made whole, 400 with every fault. `at` prefixes the field names. */
  fields(adapter: SocialAdapter, input: Readonly<Record<string, unknown>>, at?: string): Values;

  /** The operator's own app for this server; undefined means: register one (and keep it), or consent is not offered. */
  ownApp(adapter: SocialAdapter, values: Values): App | undefined;
  /** Registers an app at the server that the values name. Undefined where the network does not offer it. */
  registerApp(adapter: SocialAdapter, values: Values, redirectUri: string): Promise<App | undefined>;
  /** The consent page. `verifier` (PKCE) is to be sealed and handed to `exchange`. */
  authorize(adapter: SocialAdapter, call: { app: App; values: Values; redirectUri: string; state: string }): { url: string; verifier: string | undefined };
  /** Code → tokens; a refused code throws `ProviderError` `reauthorize`. */
  exchange(adapter: SocialAdapter, call: { app: App; values: Values; redirectUri: string; code: string; verifier?: string | undefined }): Promise<Tokens>;
  /** Typed fields → tokens; undefined where the fields are used as they are. Wrong credentials throw `ProviderError` `reauthorize`. */
  signIn(adapter: SocialAdapter, values: Values): Promise<Tokens | undefined>;
  /** Renews tokens (both kinds of login). A refusal is `reauthorize`; a fault of the line is `unavailable`. Undefined where there is nothing to renew. */
  refresh(adapter: SocialAdapter, call: { values: Values; tokens: Tokens; app?: App | undefined }): Promise<Tokens | undefined>;

  /** A connected channel. Each of its calls may throw `ProviderError`, whose words never contain a secret. */
  connect(adapter: SocialAdapter, options: ConnectOptions): Social;
}

const secretsOf = (adapter: SocialAdapter, values: Values) =>
  Object.entries(adapter.credentials)
    .filter(([, field]) => field.secret)
    .map(([name]) => values[name]);

/** The room of providers: the registry, the ways to log in, and connections. Needs no database. */
export function openProviders({ outbound, clock, sandboxEnabled, apps = {}, servers = {}, appName = 'Rookery' }: ProvidersOptions): Providers {
  const all: readonly AnyAdapter[] = registered.filter((adapter) => adapter.optional !== 'sandbox' || sandboxEnabled);
  const sockets = openSockets(outbound);

  interface Line {
    tokens?: Tokens | undefined;
    signed?: boolean;
    secrets?: readonly (string | undefined)[];
    renew?: (() => Promise<string>) | undefined;
    errorOf?: SocialAdapter['errorOf'];
  }
  /** `signed`: the access token goes with every call. */
  const httpOf = (adapter: SocialAdapter, values: Values, { tokens, signed = false, secrets = [], renew, errorOf = adapter.errorOf }: Line = {}) =>
    openHttp({
      manifest: { ...adapter, api: servers[adapter.id] ?? adapter.api, ...(errorOf && { errorOf }) },
      outbound,
      clock,
      renew,
      values: { ...values, ...tokens?.values },
      token: signed ? tokens?.accessToken : undefined,
      secrets: [...secretsOf(adapter, values), tokens?.accessToken, tokens?.refreshToken, ...secrets],
    });
  return {
    list: (domain) => all.filter((adapter) => domain === undefined || adapter.domain === domain),
    resolve: (domain, id, options = {}) => chooseVersion(all, domain, id, options),
    catalog(domain, featured = new Map()) {
      const wanted = domain === undefined ? undefined : knownDomain(domain);
      const shown = all
        .filter((adapter) => wanted === undefined || adapter.domain === wanted)
        .map((adapter) => presentCatalogEntry(adapter, featured.get(`${adapter.domain}/${adapter.id}`) ?? null));
      return shown.toSorted(
        (a, b) =>
          (a.featuredSortOrder ?? Infinity) - (b.featuredSortOrder ?? Infinity) ||
          a.displayName.localeCompare(b.displayName, 'en') ||
          a.version.localeCompare(b.version),
      );
    },
    fields: (adapter, input, at) => readFields(adapter.credentials, input, at),

    ownApp(adapter, values) {
      const app = apps[adapter.id];
      if (!app) return undefined;
      const server = Object.entries(adapter.credentials).find(([, { form }]) => form === 'origin')?.[0];
      if (app.server !== undefined && server !== undefined && !sameOrigin(app.server, values[server] ?? '')) return undefined; // it belongs to another server
      return { clientId: app.clientId, clientSecret: app.clientSecret };
    },
    async registerApp(adapter, values, redirectUri) {
      const { login } = adapter;
      if (login.kind !== 'oauth2' || !login.registerApp) return undefined;
      return login.registerApp({ http: httpOf(adapter, values), redirectUri, scopes: login.scopes, appName });
    },
    authorize(adapter, { app, values, redirectUri, state }) {
      const login = consentOf(adapter, values);
      const verifier = login.pkce ? newVerifier() : undefined;
      return { url: authorizeUrl(login, { app, redirectUri, state, verifier }), verifier };
    },
    exchange: async (adapter, { app, values, redirectUri, code, verifier }) =>
      exchangeCode(httpOf(adapter, values, { secrets: [app.clientSecret, code, verifier], errorOf: TokenRefusal }), clock, consentOf(adapter, values), {
        app,
        code,
        redirectUri,
        verifier,
      }),
    async signIn(adapter, values) {
      if (adapter.login.kind !== 'credentials') return undefined;
      return adapter.login.signIn?.({ http: httpOf(adapter, values), values, clock });
    },
    async refresh(adapter, { values, tokens, app }) {
      const { login } = adapter;
      if (login.kind === 'credentials') return login.refresh?.({ http: httpOf(adapter, values, { tokens }), values, tokens, clock });
      if (tokens.refreshToken === undefined) return undefined;
      if (!app) throw new ProviderError('reauthorize', `${adapter.title}: the app of this login is not known any more`);
      return refreshGrant(httpOf(adapter, values, { tokens, secrets: [app.clientSecret], errorOf: TokenRefusal }), clock, consentOf(adapter, values), {
        app,
        refreshToken: tokens.refreshToken,
      });
    },

    connect(adapter, { values, account, tokens, renew }) {
      const freshToken = renew && (async () => (await renew()).accessToken);
      const http = httpOf(adapter, values, { tokens, renew: freshToken, signed: true });
      const channel = adapter.connect({
        http,
        sockets,
        clock,
        timeoutMs: adapter.timeoutMs ?? TIMEOUT_MS,
        values: { ...values, ...tokens?.values },
        account,
        token: tokens?.accessToken,
      });
      return shield(channel, redactor([...secretsOf(adapter, values), tokens?.accessToken, tokens?.refreshToken]));
    },
  };
}

/** The consent page and the token address of the server that the values name. */
function consentOf(adapter: SocialAdapter, values: Values): OAuth2 {
  const { login } = adapter;
  if (login.kind !== 'oauth2') throw new AppError('invalid_request', `${adapter.title} is connected by its fields, not by consent`);
  return { ...login, authorize: fill(login.authorize, values), token: fill(login.token, values) };
}

/** The same contract, whose failures never show a secret: `http` cleans its own, adapters may word others. */
function shield<T extends object>(contract: T, clean: (text: string) => string): T {
  const guarded = Object.entries(contract).map(([name, method]: [string, (...call: unknown[]) => Promise<unknown>]) => [
    name,
    (...call: unknown[]) =>
      method(...call).catch((error: unknown) => {
        if (!(error instanceof ProviderError) || clean(error.message) === error.message) throw error;
        throw new ProviderError(error.failure, clean(error.message), { retryAfterMs: error.retryAfterMs });
      }),
  ]);
  return Object.fromEntries(guarded) as T;
}

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}
