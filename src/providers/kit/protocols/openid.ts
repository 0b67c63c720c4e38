import type { Configuration } from 'openid-client';
import { z } from 'zod';
import { ProviderError } from '../../../platform/kernel/index.ts';
import { OutboundError } from '../../../platform/outbound/index.ts';
import type { Fetch } from '../wire/fetch.ts';

/**
 * A client of an OpenID provider whose metadata and keys are discovered by its issuer (OpenID Connect Discovery 1.0).
 */
export interface OpenIdClient {
  issuer: string;
  clientId: string;
  clientSecret: string;
  scope: string;
  /** Additional parameters of the consent page. */
  asks?: Readonly<Record<string, string>>;
}
interface Line {
  fetch: Fetch;
  title: string;
  timeoutMs: number;
}
interface Start {
  state: string;
  nonce: string;
  verifier: string;
  redirectUri: string;
}

/** The standard claims of a person (OpenID Connect Core 5.1). */
export const Claims = z.object({
  sub: z.string().min(1).max(255),
  email: z.string().nullish(),
  email_verified: z.union([z.boolean(), z.stringbool()]).nullish().catch(undefined),
  name: z.string().nullish(),
  preferred_username: z.string().nullish(),
  nickname: z.string().nullish(),
  picture: z.string().nullish(),
});
export type Claims = z.output<typeof Claims>;

const library = () => import('openid-client');

/**
 * Logs in with PKCE and nonce; verifies the id_token by the provider's keys (signature, issuer, audience, times,
 * nonce), and that userinfo has the same subject. Throws `ProviderError`: a refused code is `reauthorize`, a wrong
 * configuration or an invalid answer `rejected`, a network error `unavailable`.
 */
export function openId(
  { fetch, title, timeoutMs }: Line,
  { issuer, clientId, clientSecret, scope, asks }: OpenIdClient,
) {
  let found: Promise<Configuration> | undefined;

  /** Discovered once, and again after a failure. */
  function configuration(): Promise<Configuration> {
    found ??= discover().catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  }

  async function discover(): Promise<Configuration> {
    const openid = await library();
    const options = {
      [openid.customFetch]: fetch as never, // the bodies that this client sends are forms
      execute: [openid.allowInsecureRequests], // the guard decides where plain http may go
      timeout: timeoutMs / 1000,
    };
    const { supportsPKCE: _, ...metadata } = (
      await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), options)
    ).serverMetadata();
    if (!metadata.jwks_uri) throw new ProviderError('rejected', `${title} names no keys (jwks_uri)`);
    const posts = metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post');
    const made = new openid.Configuration(
      // `iss` is checked where it is sent: the state is bound to one provider already
      { ...metadata, authorization_response_iss_parameter_supported: false },
      clientId,
      undefined,
      posts ? openid.ClientSecretPost(clientSecret) : openid.ClientSecretBasic(clientSecret),
    );
    made[openid.customFetch] = fetch as never;
    made.timeout = timeoutMs / 1000;
    openid.allowInsecureRequests(made);
    openid.enableNonRepudiationChecks(made);
    return made;
  }

  const told = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw asProviderError(title, error);
    }
  };

  const grant = async ({
    state,
    nonce,
    verifier,
    redirectUri,
    code,
    iss,
  }: Start & { code: string; iss?: string | undefined }) => {
    const [openid, configured] = [await library(), await configuration()];
    const url = new URL(redirectUri);
    for (const [name, value] of Object.entries({ code, state, ...(iss !== undefined && { iss }) }))
      url.searchParams.set(name, value);
    const tokens = await openid.authorizationCodeGrant(configured, url, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    return { openid, configured, tokens };
  };

  return {
    authorize: ({ state, nonce, verifier, redirectUri }: Start): Promise<string> =>
      told(async () => {
        const [openid, configured] = [await library(), await configuration()];
        const challenge = await openid.calculatePKCECodeChallenge(verifier);
        const asked = {
          ...asks,
          scope,
          state,
          nonce,
          redirect_uri: redirectUri,
          code_challenge: challenge,
          code_challenge_method: 'S256',
        };
        return openid.buildAuthorizationUrl(configured, asked).href;
      }),

    identify: (returned: Start & { code: string; iss?: string | undefined }): Promise<Claims> =>
      told(async () => {
        const { openid, configured, tokens } = await grant(returned);
        const claims = tokens.claims()!;
        const more = configured.serverMetadata().userinfo_endpoint
          ? await openid.fetchUserInfo(configured, tokens.access_token, claims.sub)
          : {};
        const parsed = Claims.safeParse({ ...claims, ...more });
        if (!parsed.success)
          throw new ProviderError('rejected', `${title} tells of nobody: ${parsed.error.issues[0]!.path.join('.')}`);
        return parsed.data;
      }),

    /**
     * Checks client id and secret with a code that was never issued: a provider that refuses the code, and not the
     * client, knows the client.
     */
    check: (redirectUri: string): Promise<void> =>
      told(async () => {
        const nobody = { state: 'check', nonce: 'check', verifier: 'x'.repeat(43), redirectUri, code: 'check' };
        const [{ ResponseBodyError }] = [await library()];
        await grant(nobody).catch((error: unknown) => {
          if (!(error instanceof ResponseBodyError) || error.error !== 'invalid_grant') throw error;
        });
      }),
  };
}

const causes = function* (error: unknown): Generator {
  for (
    let at = error, depth = 0;
    at !== undefined && at !== null && depth < 6;
    at = (at as { cause?: unknown }).cause, depth += 1
  )
    yield at;
};
const statusFailure = (status: number) =>
  status === 429 ? 'rate_limited' : status >= 500 || status === 408 ? 'unavailable' : 'rejected';
/** Errors of unreadable answers: the next answer may be readable. */
const GARBAGE = new Set(['OAUTH_PARSE_ERROR', 'OAUTH_RESPONSE_IS_NOT_JSON']);

function asProviderError(title: string, error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const chain = [...causes(error)];
  const line = chain.find((one) => one instanceof OutboundError);
  if (line) {
    const forbidden = line.failure === 'blocked' || line.failure === 'invalid';
    return new ProviderError(
      forbidden ? 'rejected' : 'unavailable',
      `${title} ${forbidden ? 'may not be called' : 'did not answer'}: ${line.message}`,
    );
  }
  const { code, status, error: said } = Object(error) as { code?: unknown; status?: unknown; error?: unknown };
  const response = chain.find((one) => one instanceof Response);
  const answered = typeof status === 'number' ? status : response?.status;
  if (said === 'invalid_grant') return new ProviderError('reauthorize', `${title} refused the code: begin again`);
  if (typeof said === 'string' && /^[a-z_]{1,60}$/.test(said))
    return new ProviderError(statusFailure(answered ?? 400), `${title} refused the request: ${said}`);
  if (code === 'OAUTH_TIMEOUT') return new ProviderError('unavailable', `${title} did not answer in time`);
  if (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || code === 'OAUTH_WWW_AUTHENTICATE_CHALLENGE')
    return new ProviderError(statusFailure(answered ?? 400), `${title} answered ${answered ?? 'something else'}`);
  if (GARBAGE.has(String(code)))
    return new ProviderError('unavailable', `${title} answered with something that is not understood`);
  if (typeof code === 'string' && code.startsWith('OAUTH_'))
    return new ProviderError('rejected', `The answer of ${title} cannot be believed (${code})`);
  throw error; // a bug here
}
