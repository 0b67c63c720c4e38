import { z } from 'zod';
import type { ProviderFailure } from '../../../platform/kernel/index.ts';
import { whenFailed } from '../declare/fallback.ts';
import type { Http } from '../wire/http.ts';
import { authorizeUrl } from './oauth.ts';

/** A login by the authorization code of OAuth 2, without OpenID Connect. */
export interface CodeLogin {
  authorize: string;
  token: string;
  scope: string;
  clientId: string;
  clientSecret: string;
  /**
   * Client authentication (RFC 6749 2.3.1). Default: in the body. `either`: in the header after the body was refused.
   */
  secretIn?: 'header' | 'either';
  /** The network does not support PKCE (RFC 7636), and refuses unknown parameters. */
  noPkce?: true;
}
interface Start {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

/**
 * Refusals of a token endpoint: of the code, after which the person starts again, and of the client, which the operator
 * must correct.
 */
export const CodeRefusal: z.ZodType<ProviderFailure> = z
  .object({ error: z.string() })
  .transform(({ error }): ProviderFailure =>
    ['invalid_grant', 'bad_verification_code', 'invalid_token'].includes(error) ? 'reauthorize' : 'rejected',
  );

const Granted = z.object({ access_token: z.string().min(1), id_token: z.string().nullish() });
const formEncoded = (text: string) => encodeURIComponent(text).replace(/%20/g, '+');

/**
 * Answers the address of the consent page, with PKCE unless the network does not support it; `nonce` is sent where an
 * id_token is requested.
 */
export const consentUrl = (login: CodeLogin, { state, nonce, verifier, redirectUri }: Start): string =>
  authorizeUrl(
    {
      authorize: login.authorize,
      token: login.token,
      scopes: [login.scope],
      pkce: !login.noPkce,
      ...(login.scope.split(' ').includes('openid') && { asks: { nonce } }),
    },
    { app: login, redirectUri, state, verifier },
  );

/** Exchanges the code for an access token, and the id_token where there is one. */
export function takeToken(
  http: Http,
  { token, clientId, clientSecret, secretIn, noPkce }: CodeLogin,
  { code, verifier, redirectUri }: { code: string; verifier: string; redirectUri: string },
) {
  const form = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    client_id: clientId,
    ...(!noPkce && { code_verifier: verifier }),
  };
  const inBody = () => http.post(token, Granted, { form: { ...form, client_secret: clientSecret } });
  const inHeader = () =>
    http.post(token, Granted, {
      form,
      headers: {
        authorization: `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`,
      },
    });
  if (secretIn === 'header') return inHeader();
  return secretIn === 'either' ? whenFailed('rejected', inBody, inHeader) : inBody();
}

/**
 * Checks client id and secret with a code that was never issued: a provider that refuses the code, and not the client,
 * knows the client.
 */
export const checkClient = (http: Http, login: CodeLogin, redirectUri: string): Promise<void> =>
  whenFailed(
    'reauthorize',
    async () => {
      await takeToken(http, login, { code: 'check', verifier: 'x'.repeat(43), redirectUri });
    },
    async () => undefined,
  );
