import { AppError, ProviderError, type ProviderFailure } from '../../platform/kernel/index.ts';
import type { Values } from '../kit/declare/fields.ts';
import { accessToken, requestToken } from '../kit/protocols/oauth1.ts';
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
import { type LineOptions, type Lines, secretsOf } from '../kit/wire/open-line.ts';
import { z } from 'zod';
import { addressed, consentOf, signedLogin } from './_consent.ts';
import type { App, SocialAdapter, Tokens } from './_contract.ts';
import type { ChannelLogins } from './_login-steps.ts';

export interface SocialOptions {
  /** App credentials of the operator, by provider id; `server` where they belong to one of many servers. */
  apps: Readonly<Record<string, App>>;
  appName: string;
}

/** Secrets of an app, which no failure shows. */
export const secretsOfApp = (app?: App) => [app?.clientSecret, app?.botToken, app?.consumerSecret];
export const secretsOfTokens = (tokens?: Tokens) => [tokens?.accessToken, tokens?.tokenSecret, tokens?.refreshToken];
type Secrets = readonly (string | undefined)[];

// oxlint-disable-next-line max-lines-per-function -- one short method for each operation of the port
export function openChannelLogins(lines: Lines, { apps, appName }: SocialOptions): ChannelLogins {
  /** Opens the line of a login: `secrets` are those of this call, beside the values and the tokens. */
  const lineOf = (
    adapter: SocialAdapter,
    values: Values,
    tokens?: Tokens,
    { secrets = [], ...more }: LineOptions = {},
  ) =>
    lines.open(
      adapter,
      { ...values, ...tokens?.values },
      { secrets: [...secretsOfTokens(tokens), ...secrets], ...more },
    );
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
      const secrets = [...secretsOfApp(app), ...secretsOfTokens(tokens)];
      const { line, login } = consenting(adapter, values, tokens, { secrets, outbound: egressRoute });
      await asked(adapter, secrets, () => revokeGrant(line.http, login, { app, tokens }));
    },
    renewalOf({ login }, tokens) {
      if (login.kind === 'approval') return 'none';
      if (login.kind === 'credentials') return login.signIn || login.refresh ? 'apart' : 'none';
      if (login.renewal === 'needless') return 'needless';
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
      const secrets = [...secretsOf(adapter, values), ...secretsOfTokens(tokens), ...secretsOfApp(app)];
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

/** Makes an app of the values of a setting. */
const appOf = ({ clientId = '', clientSecret = '', ...more }: Values): App => ({ ...more, clientId, clientSecret });

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}
