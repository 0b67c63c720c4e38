import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { type Clock, ProviderError, randomBase64url } from '../../../platform/kernel/index.ts';
import type { Call, Http } from '../wire/http.ts';
import type { App, Tokens } from './oauth.ts';

/** OAuth 1.0a of one provider (RFC 5849): X with an API key and its secret. */
export interface OAuth1 {
  /** Temporary credentials (2.1), resource owner authorization (2.2), token credentials (2.3). */
  request: string;
  authorize: string;
  access: string;
  /** Values to keep from the last answer, by our name: `user_id` and `screen_name` at X. */
  keeps?: Readonly<Record<string, string>>;
}
/** The keys of a signature (3.4.2). The token is absent in the first request. */
export interface Signer {
  consumerKey: string;
  consumerSecret: string;
  token?: string | undefined;
  tokenSecret?: string | undefined;
}
interface Signed {
  method: string;
  url: string;
  /** Parameters of a body of the type `application/x-www-form-urlencoded`; other bodies are not signed (3.4.1.3.1). */
  form?: readonly (readonly [string, string])[];
  /** `oauth_` parameters beside those of the signer. */
  oauth?: Readonly<Record<string, string>>;
  nonce: string;
  /** Seconds since 1970. */
  timestamp: string;
  realm?: string;
}

/** Encodes as 3.6: everything but letters, digits, `-`, `.`, `_` and `~`. */
export const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Names the server without its query; the port is there unless it is the usual one (3.4.1.2). */
const baseUriOf = ({ protocol, host, pathname }: URL) => `${protocol}//${host}${pathname}`;
const byCode = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Answers the text that is signed (3.4.1.1). */
export function baseString(method: string, url: string, parameters: readonly (readonly [string, string])[]): string {
  const at = new URL(url);
  const normal = [...at.searchParams, ...parameters]
    .map(([name, value]) => [percentEncode(name), percentEncode(value)] as const)
    .toSorted(([a, x], [b, y]) => byCode(a, b) || byCode(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return [method.toUpperCase(), baseUriOf(at), normal].map(percentEncode).join('&');
}

/** Signs by HMAC-SHA1 (3.4.2). */
export const signatureOf = (base: string, consumerSecret: string, tokenSecret = ''): string =>
  createHmac('sha1', `${percentEncode(consumerSecret)}&${percentEncode(tokenSecret)}`)
    .update(base)
    .digest('base64');

/** Answers the header `Authorization` of a signed request (3.5.1). */
export function authorizationOf(
  { consumerKey, consumerSecret, token, tokenSecret }: Signer,
  { method, url, form = [], oauth = {}, nonce, timestamp, realm }: Signed,
): string {
  const parameters = {
    oauth_consumer_key: consumerKey,
    oauth_nonce: nonce,
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: timestamp,
    ...(token !== undefined && { oauth_token: token }),
    ...oauth,
  };
  const base = baseString(method, url, [...Object.entries(parameters), ...form]);
  const all = { ...parameters, oauth_signature: signatureOf(base, consumerSecret, tokenSecret) };
  const written = Object.entries(all).map(([name, value]) => `${percentEncode(name)}="${percentEncode(value)}"`);
  return `OAuth ${[...(realm === undefined ? [] : [`realm="${realm}"`]), ...written].join(', ')}`;
}

/** Signs calls; each has a nonce of its own. */
const signing =
  (clock: Clock, signer: Signer) =>
  (method: string, url: string, { form, oauth }: Pick<Signed, 'form' | 'oauth'> = {}): string =>
    authorizationOf(signer, {
      method,
      url,
      ...(form && { form }),
      ...(oauth && { oauth }),
      nonce: randomBase64url(24),
      timestamp: String(Math.floor(clock.now().getTime() / 1_000)),
    });

/** Lists parameters, those with several values once for each. */
const pairsOf = (parameters: Call['query'] = {}): [string, string][] =>
  Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, one]),
  );

/** Signs each call that goes to the origin of the base address; no other server learns of a token. */
export function signedHttp(http: Http, base: string, clock: Clock, signer: Signer): Http {
  const sign = signing(clock, signer);
  const signed = <C extends Call>(method: string, path: string, call: C): C => {
    const url = new URL(/^https?:/.test(path) ? path : base + path);
    if (url.origin !== new URL(base).origin) return call;
    for (const [name, value] of pairsOf(call.query)) url.searchParams.append(name, value);
    for (const [name, value] of new URLSearchParams(call.rawQuery)) url.searchParams.append(name, value);
    const form = pairsOf(call.form);
    return { ...call, headers: { authorization: sign(method, url.href, { form }), ...call.headers } };
  };
  return {
    get: (path, reply, call = {}) => http.get(path, reply, signed('GET', path, call)),
    find: (path, reply, call = {}) =>
      http.find(path, reply, signed(call.json === undefined ? 'GET' : 'POST', path, call)),
    post: (path, reply, call = {}) => http.post(path, reply, signed('POST', path, call)),
    put: (path, reply, call = {}) => http.put(path, reply, signed('PUT', path, call)),
    patch: (path, reply, call = {}) => http.patch(path, reply, signed('PATCH', path, call)),
    delete: (path, call = {}) => http.delete(path, signed('DELETE', path, call)),
  };
}

/** The body of an answer, of the form type (2.1, 2.3). */
const FormBody = z.string().transform((body) => Object.fromEntries(new URLSearchParams(body)));
const credentials = { oauth_token: z.string().min(1), oauth_token_secret: z.string().min(1) };
const Temporary = FormBody.pipe(z.object({ ...credentials, oauth_callback_confirmed: z.literal('true') }));
const Token = FormBody.pipe(z.object(credentials).catchall(z.string()));

const consumerOf = (app: App): Pick<Signer, 'consumerKey' | 'consumerSecret'> => {
  const { consumerKey, consumerSecret } = app;
  if (consumerKey === undefined || consumerSecret === undefined)
    throw new ProviderError('reauthorize', 'The consumer key of this login is not known any more');
  return { consumerKey, consumerSecret };
};

/** Answers the signer of a login; undefined for one of OAuth 2. */
export const signerOf = (app: App | undefined, tokens: Tokens | undefined): Signer | undefined =>
  app && tokens?.tokenSecret !== undefined
    ? { ...consumerOf(app), token: tokens.accessToken, tokenSecret: tokens.tokenSecret }
    : undefined;

/** Asks for temporary credentials. Their token is the state of the login: the callback repeats it. */
export async function requestToken(
  http: Http,
  clock: Clock,
  login: OAuth1,
  { app, redirectUri }: { app: App; redirectUri: string },
): Promise<{ url: string; state: string; requestSecret: string }> {
  const authorization = signing(clock, consumerOf(app))('POST', login.request, {
    oauth: { oauth_callback: redirectUri },
  });
  const { oauth_token: state, oauth_token_secret: requestSecret } = await http.post(login.request, Temporary, {
    headers: { authorization },
  });
  const url = new URL(login.authorize);
  url.searchParams.set('oauth_token', state);
  return { url: url.href, state, requestSecret };
}

/** Exchanges the verifier of the callback for the token of the account, which does not expire. */
export async function accessToken(
  http: Http,
  clock: Clock,
  login: OAuth1,
  { app, state, requestSecret, verifier }: { app: App; state: string; requestSecret: string; verifier: string },
): Promise<Tokens> {
  const sign = signing(clock, { ...consumerOf(app), token: state, tokenSecret: requestSecret });
  const authorization = sign('POST', login.access, { oauth: { oauth_verifier: verifier } });
  const reply = await http.post(login.access, Token, { headers: { authorization } });
  const values = Object.entries(login.keeps ?? {}).flatMap(([name, field]) =>
    reply[field] === undefined ? [] : [[name, reply[field]] as const],
  );
  return {
    accessToken: reply.oauth_token,
    tokenSecret: reply.oauth_token_secret,
    ...(values.length > 0 && { values: Object.fromEntries(values) }),
  };
}
