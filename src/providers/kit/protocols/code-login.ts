import { z } from 'zod';
import type { ProviderFailure } from '../../../platform/kernel/index.ts';
import { whenFailed } from '../declare/fallback.ts';
import type { Http } from '../wire/http.ts';
import { authorizeUrl } from './oauth.ts';

/** Login by plain OAuth 2: consent page, token address, and whatever says who it was. */
export interface CodeLogin {
  authorize: string;
  token: string;
  scope: string;
  clientId: string;
  clientSecret: string;
  /** How the client says its secret (RFC 6749 2.3.1). Default: in the body. `either`: in the header when the body is not taken. */
  secretIn?: 'header' | 'either';
  /** The network knows none (RFC 7636), and refuses what it does not know. */
  noPkce?: true;
}
interface Start {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

/** Refusals of a token address: of the code, after which the person begins again, and of the client, which the operator must set right. */
export const CodeRefusal: z.ZodType<ProviderFailure> = z
  .object({ error: z.string() })
  .transform(({ error }): ProviderFailure => (['invalid_grant', 'bad_verification_code', 'invalid_token'].includes(error) ? 'reauthorize' : 'rejected'));

const Granted = z.object({ access_token: z.string().min(1), id_token: z.string().nullish() });
const formEncoded = (text: string) => encodeURIComponent(text).replace(/%20/g, '+');

/** The consent page, with PKCE unless the network knows none; `nonce` goes along where an id_token is asked for. */
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

/** Code → access token, and the id_token where there is one. */
export function takeToken(
  http: Http,
  { token, clientId, clientSecret, secretIn, noPkce }: CodeLogin,
  { code, verifier, redirectUri }: { code: string; verifier: string; redirectUri: string },
) {
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, client_id: clientId, ...(!noPkce && { code_verifier: verifier }) };
  const inBody = () => http.post(token, Granted, { form: { ...form, client_secret: clientSecret } });
  const inHeader = () =>
    http.post(token, Granted, {
      form,
      headers: { authorization: `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}` },
    });
  if (secretIn === 'header') return inHeader();
  return secretIn === 'either' ? whenFailed('rejected', inBody, inHeader) : inBody();
}

/** Sends a code that nobody gave: a provider that refuses the code, and not the client, knows the client. */
export const checkClient = (http: Http, login: CodeLogin, redirectUri: string): Promise<void> =>
  whenFailed(
    'reauthorize',
    async () => {
      await takeToken(http, login, { code: 'check', verifier: 'x'.repeat(43), redirectUri });
    },
    async () => undefined,
  );
