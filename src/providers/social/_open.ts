import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { Values } from '../kit/declare/fields.ts';
import {
  authorizeUrl,
  exchangeCode,
  newVerifier,
  type OAuth2,
  refreshGrant,
  TokenRefusal,
} from '../kit/protocols/oauth.ts';
import { fill } from '../kit/wire/open-http.ts';
import { type LineOptions, type Lines, secretsOf } from '../kit/wire/open-line.ts';
import type { App, Social, SocialAdapter, Tokens } from './_contract.ts';

export interface ConnectOptions {
  /** The checked fields (`fields`). */
  values: Values;
  /** `Profile.id` of the connected account; empty before it is known. */
  account: string;
  tokens?: Tokens | undefined;
  /** Answers fresh tokens after a refused login; called once for each connection, and expected to be single flight. */
  renew?: (() => Promise<Tokens>) | undefined;
  /** Egress route of its calls; undefined for the open one. */
  egressRoute?: EgressRoute | undefined;
  /** After its abort nothing is sent, and running calls are cancelled. */
  ended?: AbortSignal | undefined;
}

/** Connects channels, and opens connected ones. Calls take `egressRoute`; undefined for the open one. */
export interface SocialProviders {
  /** Answers the operator's app for this server; undefined: register one (and store it), or consent is not offered. */
  ownApp(adapter: SocialAdapter, values: Values): App | undefined;
  /** Registers an app at the server in the values. Undefined where the network does not offer it. */
  registerApp(
    adapter: SocialAdapter,
    values: Values,
    redirectUri: string,
    egressRoute?: EgressRoute,
  ): Promise<App | undefined>;
  /** Answers the address of the consent page. The caller stores `verifier` (PKCE) encrypted for `exchange`. */
  authorize(
    adapter: SocialAdapter,
    call: { app: App; values: Values; redirectUri: string; state: string },
  ): { url: string; verifier: string | undefined };
  /** Exchanges the code for tokens; a refused code throws `ProviderError` `reauthorize`. */
  exchange(
    adapter: SocialAdapter,
    call: {
      app: App;
      values: Values;
      redirectUri: string;
      code: string;
      verifier?: string | undefined;
      egressRoute?: EgressRoute | undefined;
    },
  ): Promise<Tokens>;
  /**
   * Exchanges typed fields for tokens; undefined where the fields are used as they are. Wrong credentials throw
   * `ProviderError` `reauthorize`.
   */
  signIn(adapter: SocialAdapter, values: Values, egressRoute?: EgressRoute): Promise<Tokens | undefined>;
  /**
   * Renews tokens of either login. A refusal is `reauthorize`, a network error `unavailable`. Undefined where there is
   * nothing to renew.
   */
  refresh(
    adapter: SocialAdapter,
    call: { values: Values; tokens: Tokens; app?: App | undefined; egressRoute?: EgressRoute | undefined },
  ): Promise<Tokens | undefined>;
  /** Opens a connected channel. Each operation may throw `ProviderError`, whose message never contains a secret. */
  connect(adapter: SocialAdapter, options: ConnectOptions): Social;
}

export interface SocialOptions {
  /** App credentials of the operator, by provider id; `server` where they belong to one of many servers. */
  apps: Readonly<Record<string, App & { server?: string; botToken?: string }>>;
  appName: string;
}

export function openSocial(lines: Lines, { apps, appName }: SocialOptions): SocialProviders {
  const { clock } = lines;
  const hidden = (tokens?: Tokens) => [tokens?.accessToken, tokens?.refreshToken];
  /** Opens the tool of a login: `secrets` are those of this call, beside the values and the tokens. */
  const httpOf = (
    adapter: SocialAdapter,
    values: Values,
    tokens?: Tokens,
    { secrets = [], ...more }: LineOptions = {},
  ) =>
    lines.open(adapter, { ...values, ...tokens?.values }, { secrets: [...hidden(tokens), ...secrets], ...more }).http;
  const asked = <T>(adapter: SocialAdapter, secrets: readonly (string | undefined)[], work: () => Promise<T>) =>
    lines.call(adapter, { secrets }, work);

  function operatorApp(adapter: SocialAdapter, values: Values) {
    const app = apps[adapter.id];
    const server = Object.entries(adapter.credentials).find(([, { form }]) => form === 'origin')?.[0];
    return app?.server !== undefined && server !== undefined && !sameOrigin(app.server, values[server] ?? '')
      ? undefined // it belongs to another server
      : app;
  }

  return {
    ownApp(adapter, values) {
      const app = operatorApp(adapter, values);
      return app && { clientId: app.clientId, clientSecret: app.clientSecret };
    },
    async registerApp(adapter, values, redirectUri, egressRoute) {
      const { login } = adapter;
      const register = login.kind === 'oauth2' ? login.registerApp : undefined;
      return (
        register &&
        asked(adapter, [], () =>
          register({
            http: httpOf(adapter, values, undefined, { outbound: egressRoute }),
            redirectUri,
            scopes: consentOf(adapter, values).scopes,
            appName,
          }),
        )
      );
    },
    authorize(adapter, { app, values, redirectUri, state }) {
      const login = consentOf(adapter, values);
      const verifier = login.pkce ? newVerifier() : undefined;
      return { url: authorizeUrl(login, { app, redirectUri, state, verifier }), verifier };
    },
    async exchange(adapter, { app, values, redirectUri, code, verifier, egressRoute }) {
      const login = consentOf(adapter, values);
      const secrets = [app.clientSecret, code, verifier];
      const http = httpOf(adapter, values, undefined, { secrets, errorOf: TokenRefusal, outbound: egressRoute });
      return asked(adapter, secrets, () => exchangeCode(http, clock, login, { app, code, redirectUri, verifier }));
    },
    async signIn(adapter, values, egressRoute) {
      const signIn = adapter.login.kind === 'credentials' ? adapter.login.signIn : undefined;
      return (
        signIn &&
        asked(adapter, secretsOf(adapter, values), () =>
          signIn({ http: httpOf(adapter, values, undefined, { outbound: egressRoute }), values, clock }),
        )
      );
    },
    async refresh(adapter, { values, tokens, app, egressRoute }) {
      const { login } = adapter;
      const secrets = [...secretsOf(adapter, values), ...hidden(tokens), app?.clientSecret];
      if (login.kind === 'credentials') {
        const { refresh } = login;
        return (
          refresh &&
          asked(adapter, secrets, () =>
            refresh({ http: httpOf(adapter, values, tokens, { outbound: egressRoute }), values, tokens, clock }),
          )
        );
      }
      const { refreshToken } = tokens;
      if (refreshToken === undefined) return undefined;
      if (!app) throw new ProviderError('reauthorize', `${adapter.title}: the app of this login is not known any more`);
      const http = httpOf(adapter, values, tokens, {
        secrets: [app.clientSecret],
        errorOf: TokenRefusal,
        outbound: egressRoute,
      });
      return asked(adapter, secrets, () =>
        refreshGrant(http, clock, consentOf(adapter, values), { app, refreshToken }),
      );
    },

    connect(adapter, { values, account, tokens, renew, egressRoute, ended }) {
      const line = lines.open(
        adapter,
        { ...values, ...tokens?.values },
        {
          token: tokens?.accessToken,
          app: operatorApp(adapter, values),
          secrets: hidden(tokens),
          renew: renew && (async () => (await renew()).accessToken),
          outbound: egressRoute,
          ended,
        },
      );
      const channel = adapter.connect({ ...line, account, token: tokens?.accessToken });
      return lines.guard(adapter, channel, { secrets: [...secretsOf(adapter, values), ...hidden(tokens)] });
    },
  };
}

/** Fills the addresses of consent page and token endpoint from the values. */
function consentOf(adapter: SocialAdapter, values: Values): OAuth2 {
  const { login } = adapter;
  if (login.kind !== 'oauth2')
    throw new AppError('invalid_request', `${adapter.title} is connected by its fields, not by consent`);
  return { ...login, authorize: fill(login.authorize, values), token: fill(login.token, values) };
}

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}
