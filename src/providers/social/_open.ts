import { AppError, ProviderError, type ProviderFailure } from '../../platform/kernel/index.ts';
import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { Values } from '../kit/declare/fields.ts';
import { accessToken, type OAuth1, requestToken, signedHttp, signerOf } from '../kit/protocols/oauth1.ts';
import {
  authorizeUrl,
  exchangeCode,
  isRenewable,
  missingScopes,
  newVerifier,
  renewGrant,
  revokeGrant,
  TokenRefusal,
} from '../kit/protocols/oauth.ts';
import { fill } from '../kit/wire/open-http.ts';
import { type FullLine, type LineOptions, type Lines, secretsOf } from '../kit/wire/open-line.ts';
import { z } from 'zod';
import type { App, Social, SocialAdapter, Tokens } from './_contract.ts';

export interface ConnectOptions {
  /** The checked fields (`fields`). */
  values: Values;
  /** `Profile.id` of the connected account; empty before it is known. */
  account: string;
  tokens?: Tokens | undefined;
  app?: App | undefined;
  /** Answers fresh tokens after a refused login; called once for each connection, and expected to be single flight. */
  renew?: (() => Promise<Tokens>) | undefined;
  /** Egress route of its calls; undefined for the open one. */
  egressRoute?: EgressRoute | undefined;
  /** After its abort nothing is sent, and running calls are cancelled. */
  ended?: AbortSignal | undefined;
}

/** What every step of a login by consent is handed. Calls take `egressRoute`; undefined for the open one. */
interface Step {
  app: App;
  values: Values;
  egressRoute?: EgressRoute | undefined;
}
/**
 * `apart`: by a refresh token or the typed fields, also after the access token has expired. `itself`: by the access token
 * while it is valid.
 */
export type Renewal = 'none' | 'apart' | 'itself';
/** The start of a login: where the person consents, the state that comes back, and secrets that the end needs. */
export interface Begun {
  url: string;
  state: string;
  kept: Values;
}
export interface ReturnedLogin extends Step {
  redirectUri: string;
  code: string;
  state?: string | undefined;
  /** Of `Begun`. */
  kept?: Values;
  /** All parameters of the callback. */
  callback?: Values | undefined;
}

/** Connects channels, and opens connected ones. Calls take `egressRoute`; undefined for the open one. */
export interface SocialProviders {
  /**
   * Answers the app for this server: that of the organization (`own`, the values of its settings), else the operator's.
   * Undefined: register one (and store it), or consent is not offered.
   */
  ownApp(adapter: SocialAdapter, values: Values, own?: Values): App | undefined;
  /** Registers an app at the server in the values. Undefined where the network does not offer it. */
  registerApp(
    adapter: SocialAdapter,
    values: Values,
    redirectUri: string,
    egressRoute?: EgressRoute,
  ): Promise<App | undefined>;
  /** Begins a login. The caller stores the hash of `state`, and `kept` encrypted. */
  authorize(adapter: SocialAdapter, call: Step & { redirectUri: string; state: string }): Promise<Begun>;
  /**
   * Exchanges the code for tokens; a refused code throws `ProviderError` `reauthorize`. A scope that the person did not
   * grant is 400, with its name.
   */
  exchange(adapter: SocialAdapter, call: ReturnedLogin): Promise<Tokens>;
  /** Asks whether a person has approved (`approval`); undefined: not yet. */
  poll(adapter: SocialAdapter, call: Step & { kept: Values; callback: Values }): Promise<Tokens | undefined>;
  /** Ends a login at the network, where it can be ended alone. */
  revoke(adapter: SocialAdapter, call: Omit<Step, 'app'> & { app?: App | undefined; tokens: Tokens }): Promise<void>;
  /** Answers how these tokens can be renewed without a person. */
  renewalOf(adapter: SocialAdapter, tokens: Tokens | undefined): Renewal;
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
  apps: Readonly<Record<string, App>>;
  appName: string;
}

/** Secrets of an app, which no failure shows. */
const secretsOfApp = (app?: App) => [app?.clientSecret, app?.botToken, app?.consumerSecret];
const hidden = (tokens?: Tokens) => [tokens?.accessToken, tokens?.tokenSecret, tokens?.refreshToken];
type Consent = Extract<SocialAdapter['login'], { kind: 'oauth2' }>;
type Secrets = readonly (string | undefined)[];

// oxlint-disable-next-line max-lines-per-function -- one short method for each operation of the port
export function openSocial(lines: Lines, { apps, appName }: SocialOptions): SocialProviders {
  /** Opens the line of a login: `secrets` are those of this call, beside the values and the tokens. */
  const lineOf = (
    adapter: SocialAdapter,
    values: Values,
    tokens?: Tokens,
    { secrets = [], ...more }: LineOptions = {},
  ) => lines.open(adapter, { ...values, ...tokens?.values }, { secrets: [...hidden(tokens), ...secrets], ...more });
  const asked = <T>(adapter: SocialAdapter, secrets: Secrets, work: () => Promise<T>) =>
    lines.call(adapter, { secrets }, work);
  /** Opens the line of a consent: refusals are those of a token endpoint, with an error status or inside a 200. */
  function consenting(adapter: SocialAdapter, values: Values, tokens: Tokens | undefined, options: LineOptions) {
    const login = consentOf(adapter);
    const refusal: z.ZodType<ProviderFailure> = login.refusal ? z.union([login.refusal, TokenRefusal]) : TokenRefusal;
    const line = lineOf({ ...adapter, errorOf: refusal, errorInside: refusal }, values, tokens, options);
    return { line, login: addressed(login, line) };
  }

  return {
    ownApp(adapter, values, own) {
      const server = Object.entries(adapter.credentials).find(([, { form }]) => form === 'origin')?.[0];
      const fits = (app: App | undefined) =>
        app && (app.server === undefined || server === undefined || sameOrigin(app.server, values[server] ?? ''));
      return [own && appOf(own), apps[adapter.id]].find(fits);
    },
    async registerApp(adapter, values, redirectUri, egressRoute) {
      const { login } = adapter;
      const register = login.kind === 'oauth2' ? login.registerApp : undefined;
      if (login.kind !== 'oauth2' || !register) return undefined;
      const { http } = lineOf(adapter, values, undefined, { outbound: egressRoute });
      return asked(adapter, [], () => register({ http, redirectUri, scopes: login.scopes, appName }));
    },
    async authorize(adapter, { app, values, redirectUri, state, egressRoute }) {
      const secrets = secretsOfApp(app);
      const options = { secrets, outbound: egressRoute };
      if (adapter.login.kind === 'approval') {
        const { begin } = adapter.login;
        const { http, clock } = lineOf(adapter, values, undefined, options);
        const { url, kept = {} } = await asked(adapter, secrets, () =>
          begin({ http, clock, app, values, redirectUri, state }),
        );
        return { url, state, kept };
      }
      const { line, login } = consenting(adapter, values, undefined, options);
      const signed = signedLogin(login, app);
      if (signed) {
        const { requestSecret, ...begun } = await asked(adapter, secrets, () =>
          requestToken(line.http, line.clock, signed, { app, redirectUri }),
        );
        return { ...begun, kept: { requestSecret } };
      }
      const kept = {
        ...(login.pkce && { verifier: newVerifier() }),
        ...(login.nonce && { nonce: newVerifier() }),
      };
      return { url: authorizeUrl(login, { app, redirectUri, state, ...kept }), state, kept };
    },
    async exchange(adapter, { app, values, redirectUri, code, state, kept = {}, callback, egressRoute }) {
      const secrets = [...secretsOfApp(app), code, ...Object.values(kept), ...Object.values(callback ?? {})];
      const { line, login } = consenting(adapter, values, undefined, { secrets, outbound: egressRoute });
      const { http, clock, hide } = line;
      const signed = signedLogin(login, app);
      if (signed)
        return asked(adapter, secrets, () =>
          accessToken(http, clock, signed, {
            app,
            state: state ?? '',
            requestSecret: kept['requestSecret'] ?? '',
            verifier: code,
          }),
        );
      return asked(adapter, secrets, async () => {
        const granted = await exchangeCode(http, clock, login, {
          app,
          code,
          redirectUri,
          state,
          values,
          callback,
          hide,
          verifier: kept['verifier'],
          nonce: kept['nonce'],
        });
        const missing = missingScopes(login, granted.scopes);
        if (missing.length > 0) throw notGranted(adapter, missing);
        return granted.tokens;
      });
    },
    async poll(adapter, { app, values, kept, callback, egressRoute }) {
      const { login } = adapter;
      if (login.kind !== 'approval') throw otherLogin(adapter);
      const secrets = [...secretsOfApp(app), ...Object.values(kept), ...Object.values(callback)];
      const { http, clock } = lineOf(adapter, values, undefined, { secrets, outbound: egressRoute });
      return asked(adapter, secrets, () => login.poll({ http, clock, app, values, kept, callback }));
    },
    async revoke(adapter, { app, values, tokens, egressRoute }) {
      if (adapter.login.kind !== 'oauth2' || !adapter.login.revoke || !app || tokens.tokenSecret !== undefined) return;
      const secrets = [...secretsOfApp(app), ...hidden(tokens)];
      const { line, login } = consenting(adapter, values, tokens, { secrets, outbound: egressRoute });
      await asked(adapter, secrets, () => revokeGrant(line.http, login, { app, tokens }));
    },
    renewalOf({ login }, tokens) {
      if (login.kind === 'approval') return 'none';
      if (login.kind === 'credentials') return login.signIn || login.refresh ? 'apart' : 'none';
      if (!isRenewable(login, tokens)) return 'none';
      return typeof login.renewal === 'object' ? 'itself' : 'apart';
    },
    async signIn(adapter, values, egressRoute) {
      const signIn = adapter.login.kind === 'credentials' ? adapter.login.signIn : undefined;
      if (!signIn) return undefined;
      const { http, clock } = lineOf(adapter, values, undefined, { outbound: egressRoute });
      return asked(adapter, secretsOf(adapter, values), () => signIn({ http, values, clock }));
    },
    async refresh(adapter, { values, tokens, app, egressRoute }) {
      const secrets = [...secretsOf(adapter, values), ...hidden(tokens), ...secretsOfApp(app)];
      if (adapter.login.kind === 'approval') return undefined;
      if (adapter.login.kind === 'credentials') {
        const { refresh } = adapter.login;
        if (!refresh) return undefined;
        const { http, clock } = lineOf(adapter, values, tokens, { outbound: egressRoute });
        return asked(adapter, secrets, () => refresh({ http, values, tokens, clock }));
      }
      if (!isRenewable(adapter.login, tokens)) return undefined;
      if (!app) throw new ProviderError('reauthorize', `${adapter.title}: the app of this login is not known any more`);
      const { line, login } = consenting(adapter, values, tokens, { secrets, outbound: egressRoute });
      return asked(adapter, secrets, () => renewGrant(line.http, line.clock, login, { app, tokens, values }));
    },

    connect(adapter, { values, account, tokens, app, renew, egressRoute, ended }) {
      const secrets = [...hidden(tokens), ...secretsOfApp(app)];
      const signer = signerOf(app, tokens);
      const line = lines.open(
        adapter,
        { ...values, ...tokens?.values },
        {
          token: signer ? undefined : tokens?.accessToken,
          app,
          secrets,
          renew: renew && (async () => (await renew()).accessToken),
          outbound: egressRoute,
          ended,
        },
      );
      const http = signer ? signedHttp(line.http, line.base, line.clock, signer) : line.http;
      const channel = adapter.connect({ ...line, http, account, app, token: tokens?.accessToken });
      return lines.guard(adapter, channel, { secrets: [...secretsOf(adapter, values), ...secrets] });
    },
  };
}

const otherLogin = ({ title, id }: SocialAdapter) =>
  new AppError('invalid_request', `${title} is connected in another way`, { provider: id });
const notGranted = ({ title, id }: SocialAdapter, missing: readonly string[]) =>
  new AppError(
    'invalid_request',
    `${title} did not grant ${missing.join(', ')}: connect again, and allow everything that is asked`,
    { provider: id, missingScopes: [...missing] },
  );

function consentOf(adapter: SocialAdapter): Consent {
  if (adapter.login.kind === 'oauth2') return adapter.login;
  throw new AppError('invalid_request', `${adapter.title} is connected by its fields, not by consent`);
}

/** Fills the addresses of a login from the values and hosts of the line; a path belongs to its base. */
function addressed(login: Consent, { values, hosts, base }: FullLine): Consent {
  const at = (address: string) => {
    const filledIn = fill(address, { ...hosts, ...values });
    return filledIn.startsWith('/') ? base + filledIn : filledIn;
  };
  const within = <T extends { at: string }>(part: T): T => ({ ...part, at: at(part.at) });
  const { oauth1, longLived, renewal, revoke, permissionsAt } = login;
  return {
    ...login,
    authorize: at(login.authorize),
    token: at(login.token),
    ...(longLived && { longLived: within(longLived) }),
    ...(typeof renewal === 'object' && { renewal: within(renewal) }),
    ...(revoke && { revoke: within(revoke) }),
    ...(permissionsAt !== undefined && { permissionsAt: at(permissionsAt) }),
    ...(oauth1 && {
      oauth1: {
        ...oauth1,
        request: at(oauth1.request),
        authorize: at(oauth1.authorize),
        access: at(oauth1.access),
      },
    }),
  };
}

/** Answers OAuth 1.0a where the app has nothing else. */
const signedLogin = ({ oauth1 }: Pick<Consent, 'oauth1'>, app: App): OAuth1 | undefined =>
  app.clientId === '' && app.consumerKey !== undefined ? oauth1 : undefined;

/** Makes an app of the values of a setting. */
const appOf = ({ clientId = '', clientSecret = '', ...more }: Values): App => ({ ...more, clientId, clientSecret });

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}
