import { z } from 'zod';
import { type Clock, type ProviderFailure, randomBase64url, sha256 } from '../../../platform/kernel/index.ts';
import type { Http } from '../wire/http.ts';

/** OAuth 2 of a network: its addresses, scopes and support of PKCE. */
export interface OAuth2 {
  authorize: string;
  token: string;
  scopes: readonly string[];
  pkce?: boolean;
  /** Additional parameters of the consent page. */
  asks?: Readonly<Record<string, string>>;
}
interface App {
  clientId: string;
  clientSecret: string;
}
interface Granted {
  accessToken: string;
  refreshToken?: string;
  expiresAt?: Date;
}

/** Makes a PKCE verifier (RFC 7636) of 64 characters. */
export const newVerifier = (): string => randomBase64url(48);
const challengeOf = (verifier: string): string => sha256(verifier).toString('base64url');

/** Answers the address of the consent page; the placeholders of `login` are filled. */
export function authorizeUrl(
  login: OAuth2,
  {
    app,
    redirectUri,
    state,
    verifier,
  }: { app: App; redirectUri: string; state: string; verifier?: string | undefined },
): string {
  const url = new URL(login.authorize);
  const query = {
    ...login.asks,
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: redirectUri,
    scope: login.scopes.join(' '),
    state,
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  if (login.pkce && verifier !== undefined) {
    url.searchParams.set('code_challenge', challengeOf(verifier));
    url.searchParams.set('code_challenge_method', 'S256');
  }
  return url.href;
}

/** Refusals of a token endpoint (RFC 6749 5.2) that only a person can resolve. */
export const TokenRefusal: z.ZodType<ProviderFailure> = z
  .object({
    error: z.enum(['invalid_grant', 'invalid_client', 'unauthorized_client', 'access_denied', 'invalid_token']),
  })
  .transform((): ProviderFailure => 'reauthorize');

const Grant = z.object({
  access_token: z.string().min(1),
  refresh_token: z.string().min(1).nullish(),
  expires_in: z.coerce.number().positive().nullish(),
});

async function grant(http: Http, clock: Clock, login: OAuth2, form: Record<string, string>): Promise<Granted> {
  const reply = await http.post(login.token, Grant, { form });
  return {
    accessToken: reply.access_token,
    ...(reply.refresh_token && { refreshToken: reply.refresh_token }),
    ...(reply.expires_in && { expiresAt: clock.in(reply.expires_in * 1000) }),
  };
}

/** Exchanges the code of the consent page for tokens; a refused code is `reauthorize`. */
export const exchangeCode = (
  http: Http,
  clock: Clock,
  login: OAuth2,
  { app, code, redirectUri, verifier }: { app: App; code: string; redirectUri: string; verifier?: string | undefined },
): Promise<Granted> =>
  grant(http, clock, login, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: app.clientId,
    client_secret: app.clientSecret,
    ...(login.pkce && verifier !== undefined && { code_verifier: verifier }),
  });

/** Renews tokens by the refresh token, and keeps it unless the network rotates it. `invalid_grant` is `reauthorize`. */
export async function refreshGrant(
  http: Http,
  clock: Clock,
  login: OAuth2,
  { app, refreshToken }: { app: App; refreshToken: string },
): Promise<Granted> {
  const fresh = await grant(http, clock, login, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: app.clientId,
    client_secret: app.clientSecret,
  });
  return { refreshToken, ...fresh };
}
