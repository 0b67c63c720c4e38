import { z } from 'zod';
import {
  type Clock,
  ProviderError,
  type ProviderFailure,
  randomBase64url,
  sha256,
} from '../../../platform/kernel/index.ts';
import { whenFailed } from '../declare/fallback.ts';
import { type Fields, secret, text, type Values } from '../declare/fields.ts';
import type { Http } from '../wire/http.ts';
import { idTokenClaims } from './jwt.ts';

/** Parameters by name; `{field}` in a value is filled from the values of the login, `{state}` with its state. */
type Parameters = Readonly<Record<string, string>>;

/**
 * The authorization code grant of one provider (RFC 6749 4.1), for channels and for logins of people. Absent: as the
 * RFC says. Each field names a provider that documents it.
 */
export interface OAuth2 {
  /** The consent page and the token endpoint. */
  authorize: string;
  token: string;
  scopes: readonly string[];
  /** Asked for, and not missed where a person refuses them; also those that the provider never lists as granted. */
  optionalScopes?: readonly string[];
  /** TikTok (Login Kit for Web), Pinterest, Threads and Instagram separate scopes by commas. */
  scopeSeparator?: ',';
  /** PKCE with S256 (RFC 7636). */
  pkce?: boolean;
  /** A `nonce` is sent to the consent page, and an id_token must repeat it (Whop with the scope `openid`). */
  nonce?: true;
  /** Additional parameters of the consent page, such as `access_type` of Google or `duration` of Reddit. */
  asks?: Readonly<Record<string, string>>;
  /** Name of the parameter that holds the client id: `client_key` at TikTok. */
  clientIdName?: string;
  /**
   * Client authentication (RFC 6749 2.3.1). Default: in the body. `header`: HTTP Basic (X, Reddit, Pinterest). `either`:
   * in the header after the body was refused. `none`: a public client, which PKCE protects (VK ID, Whop); also wherever
   * the app has no secret.
   */
  secretIn?: 'header' | 'either' | 'none';
  /** The code is exchanged by GET, as Facebook Login documents it. */
  exchangeBy?: 'GET';
  /** Additional parameters of the exchange: `device_id` and `state` of VK ID, `continuous_refresh` of Pinterest. */
  exchangeAsks?: Parameters;
  /** Additional parameters of a renewal: `device_id` and `state` of VK ID. */
  renewAsks?: Parameters;
  /**
   * The token of the code lives for an hour, and is exchanged for one of 60 days by GET: `fb_exchange_token` (Facebook
   * Login), `ig_exchange_token` (Instagram API), `th_exchange_token` (Threads API). `tokenName` is the parameter of the
   * short token, `withId` sends the client id beside the secret.
   */
  longLived?: { at: string; grant: string; tokenName: string; withId?: true };
  /**
   * Default: by the refresh token (RFC 6749 6). `at`, `grant`: by the access token itself while it is valid, by GET
   * (`ig_refresh_token`, `th_refresh_token`). `none`: a person logs in again (Facebook Login). `needless`: calls take
   * another credential (the bot of Discord), so the end of the tokens means nothing, and is not kept.
   */
  renewal?: 'none' | 'needless' | { at: string; grant: string };
  /** Reads what a person granted where the answer does not list it: `/me/permissions` of the Graph API. */
  permissionsAt?: string;
  /**
   * Values to keep, by our name: from the query of the callback (`device_id` of VK ID), and from the answer by path
   * (`open_id` of TikTok, `team.id` of Slack, `guild.id` of Discord). They become `Tokens.values`.
   */
  keeps?: { callback?: Readonly<Record<string, string>>; answer?: Readonly<Record<string, string>> };
  /**
   * Ends the token when its channel is deleted (RFC 7009). Absent where the provider would end every login of the person
   * at this app, and so other channels: Discord, Facebook (`/permissions`), Google (`/revoke`), and Slack, whose bot is
   * that of the workspace. `tokenName`: `access_token` at VK ID.
   */
  revoke?: { at: string; tokenName?: string; of?: 'refresh' };
  /** Reads a refusal of the token endpoint that does not speak RFC 6749 5.2, such as those of the Graph API and Slack. */
  refusal?: z.ZodType<ProviderFailure>;
}

/** Credentials of an app at a provider, or at one server of it. Only what its adapter declares is there. */
export interface App {
  clientId: string;
  /** Empty for a public app. */
  clientSecret: string;
  /** Token of the bot that belongs to the app (Discord, Telegram). */
  botToken?: string;
  /** The pair of OAuth 1.0a. */
  consumerKey?: string;
  consumerSecret?: string;
  /** The server at which the app is registered, where there are many. */
  server?: string;
}
/** The fields of a usual app. */
export const clientApp = {
  clientId: text('Client id'),
  clientSecret: secret('Client secret'),
} as const satisfies Fields;

/** Tokens of a grant, as they are stored. */
export interface Tokens {
  accessToken: string;
  /** Secret of the token of OAuth 1.0a: calls are signed with it. */
  tokenSecret?: string;
  refreshToken?: string;
  /** Absent where the access token does not expire. */
  expiresAt?: Date;
  /** Absent where the refresh token does not expire, or the provider does not tell. */
  refreshExpiresAt?: Date;
  /** Learned at the login; they replace typed fields of the same name. */
  values?: Values;
}
/** The answer of a token endpoint. */
export interface Granted {
  tokens: Tokens;
  /** Absent: as asked (RFC 6749 5.1). */
  scopes?: readonly string[];
  idToken?: string;
}

/** Makes a PKCE verifier (RFC 7636) of 64 characters. */
export const newVerifier = (): string => randomBase64url(48);
const challengeOf = (verifier: string): string => sha256(verifier).toString('base64url');
/** Fills `{field}`; a parameter whose field is not known stays away. */
function filled(parameters: Parameters = {}, values: Values): Record<string, string> {
  const known = Object.entries(parameters).filter(([, value]) =>
    [...value.matchAll(/\{(\w+)\}/g)].every(([, name]) => values[name!] !== undefined),
  );
  return Object.fromEntries(
    known.map(([name, value]) => [name, value.replace(/\{(\w+)\}/g, (_, field: string) => values[field]!)]),
  );
}

interface Start {
  app: App;
  redirectUri: string;
  state: string;
  verifier?: string | undefined;
  nonce?: string | undefined;
}
/** Answers the address of the consent page. */
export function authorizeUrl(login: OAuth2, { app, redirectUri, state, verifier, nonce }: Start): string {
  const url = new URL(login.authorize);
  const query = {
    ...login.asks,
    response_type: 'code',
    [login.clientIdName ?? 'client_id']: app.clientId,
    redirect_uri: redirectUri,
    ...(login.scopes.length > 0 && { scope: login.scopes.join(login.scopeSeparator ?? ' ') }),
    state,
    ...(login.nonce && nonce !== undefined && { nonce }),
    ...(login.pkce &&
      verifier !== undefined && { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' }),
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** Refusals of a token endpoint (RFC 6749 5.2) after which a channel needs a new login. */
export const TokenRefusal: z.ZodType<ProviderFailure> = z
  .object({
    error: z.enum(['invalid_grant', 'invalid_client', 'unauthorized_client', 'access_denied', 'invalid_token']),
  })
  .transform((): ProviderFailure => 'reauthorize');

/**
 * The same for the login of a person: of the code, after which the person starts again, and of the client, which the
 * operator must correct. `bad_verification_code`: GitHub.
 */
export const CodeRefusal: z.ZodType<ProviderFailure> = z
  .object({ error: z.string() })
  .transform(({ error }): ProviderFailure =>
    ['invalid_grant', 'bad_verification_code', 'invalid_token'].includes(error) ? 'reauthorize' : 'rejected',
  );

const seconds = z.coerce.number().min(0).nullish(); // 0: does not expire (VK)
const scopeList = z
  .union([z.string(), z.array(z.string())])
  .transform((said) => [said].flat().flatMap((one) => one.split(/[\s,]+/).filter(Boolean)));
const Reply = z.preprocess(
  // Instagram wraps its answer: {"data": [{"access_token": …}]}
  (body) => {
    const { data } = Object(body) as { data?: unknown };
    return Array.isArray(data) && data.length === 1 ? data[0] : body;
  },
  z.looseObject({
    access_token: z.string().min(1),
    refresh_token: z.string().min(1).nullish(),
    expires_in: seconds,
    refresh_token_expires_in: seconds, // LinkedIn, Pinterest
    refresh_expires_in: seconds, // TikTok
    scope: scopeList.nullish().catch(undefined),
    permissions: scopeList.nullish().catch(undefined), // Instagram
    id_token: z.string().nullish(),
  }),
);
const Permissions = z.object({ data: z.array(z.object({ permission: z.string(), status: z.string() })) });

const pathOf = (answer: unknown, path: string): string | undefined => {
  const found = path.split('.').reduce<unknown>((at, name) => (Object(at) as Record<string, unknown>)[name], answer);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
};

function grantOf(login: OAuth2, clock: Clock, reply: z.output<typeof Reply>): Granted {
  const until = (lifetime: number | null | undefined) => (lifetime ? clock.in(lifetime * 1000) : undefined);
  const expiresAt = until(reply.expires_in);
  const refreshExpiresAt = until(reply.refresh_token_expires_in ?? reply.refresh_expires_in);
  const scopes = reply.scope ?? reply.permissions;
  const values = Object.entries(login.keeps?.answer ?? {}).flatMap(([name, path]) => {
    const found = pathOf(reply, path);
    return found === undefined ? [] : [[name, found]];
  });
  const ends = {
    ...(reply.refresh_token && { refreshToken: reply.refresh_token }),
    ...(expiresAt && { expiresAt }),
    ...(refreshExpiresAt && { refreshExpiresAt }),
  };
  return {
    tokens: {
      accessToken: reply.access_token,
      ...(login.renewal !== 'needless' && ends),
      ...(values.length > 0 && { values: Object.fromEntries(values) as Values }),
    },
    ...(scopes && { scopes }),
    ...(reply.id_token && { idToken: reply.id_token }),
  };
}

const formEncoded = (value: string) => encodeURIComponent(value).replace(/%20/g, '+');
const basic = ({ clientId, clientSecret }: App) =>
  `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** The client of a request: its id, and its secret at the declared place. */
function clientOf({ clientIdName = 'client_id', secretIn }: OAuth2, app: App, place = secretIn) {
  const secretive = place !== 'none' && app.clientSecret !== '';
  return {
    form: {
      [clientIdName]: app.clientId,
      ...(secretive && place !== 'header' && { client_secret: app.clientSecret }),
    },
    headers: secretive && place === 'header' ? { authorization: basic(app) } : {},
  };
}

async function ask(http: Http, login: OAuth2, app: App, sent: Record<string, string>) {
  const post = (place?: 'header') => {
    const { form, headers } = clientOf(login, app, place ?? login.secretIn);
    const parameters = { ...sent, ...form };
    return login.exchangeBy === 'GET' && sent['grant_type'] === 'authorization_code'
      ? http.get(login.token, Reply, { query: parameters, headers })
      : http.post(login.token, Reply, { form: parameters, headers });
  };
  return login.secretIn === 'either' ? whenFailed('rejected', post, () => post('header')) : post();
}

interface Returned {
  app: App;
  code: string;
  redirectUri: string;
  verifier?: string | undefined;
  state?: string | undefined;
  /** That of the consent page: an id_token with another one belongs to another login. */
  nonce?: string | undefined;
  values?: Values | undefined;
  /** All parameters of the callback. */
  callback?: Readonly<Record<string, string>> | undefined;
  /** Told of the tokens, so that no failure shows them. */
  hide?: ((secret: string) => void) | undefined;
}

/**
 * Exchanges the code of the consent page for tokens: a refused code is `reauthorize`. Throws `rejected` where a value to
 * keep is missing.
 */
export async function exchangeCode(
  http: Http,
  clock: Clock,
  login: OAuth2,
  { app, code, redirectUri, verifier, state, nonce, values = {}, callback = {}, hide = () => {} }: Returned,
): Promise<Granted> {
  const fromCallback = Object.fromEntries(
    Object.entries(login.keeps?.callback ?? {}).map(([name, parameter]) => {
      const found = callback[parameter];
      if (!found) throw new ProviderError('rejected', `The callback lacks ${parameter}: begin the login again`);
      return [name, found];
    }),
  );
  const known = { ...values, ...fromCallback, ...(state !== undefined && { state }) };
  const reply = await ask(http, login, app, {
    grant_type: 'authorization_code',
    code: code.replace(/#_$/, ''), // Instagram and Threads append it to the address of the callback
    redirect_uri: redirectUri,
    ...(login.pkce && verifier !== undefined && { code_verifier: verifier }),
    ...filled(login.exchangeAsks, known),
  });
  const short = grantOf(login, clock, reply);
  hide(short.tokens.accessToken);
  const repeated = short.idToken === undefined ? undefined : idTokenClaims(short.idToken)?.['nonce'];
  if (login.nonce && repeated !== undefined && repeated !== nonce)
    throw new ProviderError('rejected', 'The answer belongs to another login (nonce): begin again');
  const missing = Object.entries(login.keeps?.answer ?? {}).find(([name]) => short.tokens.values?.[name] === undefined);
  if (missing) throw new ProviderError('rejected', `The answer lacks ${missing[1]}: begin the login again`);
  const granted = await lasting(http, clock, login, app, short);
  hide(granted.tokens.accessToken);
  const scopes = login.permissionsAt
    ? (await http.get(login.permissionsAt, Permissions, { headers: bearer(granted.tokens.accessToken) })).data
        .filter(({ status }) => status === 'granted')
        .map(({ permission }) => permission)
    : granted.scopes;
  const kept = { ...fromCallback, ...granted.tokens.values };
  return {
    ...granted,
    tokens: { ...granted.tokens, ...(Object.keys(kept).length > 0 && { values: kept }) },
    ...(scopes && { scopes }),
  };
}

/** Exchanges the token of the code for the one that lives longer, where there is such a thing. */
async function lasting(http: Http, clock: Clock, login: OAuth2, app: App, short: Granted): Promise<Granted> {
  if (!login.longLived) return short;
  const { at, grant, tokenName, withId } = login.longLived;
  const reply = await http.get(at, Reply, {
    query: {
      grant_type: grant,
      ...(withId && { client_id: app.clientId }),
      client_secret: app.clientSecret,
      [tokenName]: short.tokens.accessToken,
    },
  });
  const long = grantOf(login, clock, reply);
  return { ...short, tokens: { ...long.tokens, ...(short.tokens.values && { values: short.tokens.values }) } };
}

/** Answers whether tokens can be renewed without a person. */
export function isRenewable({ renewal }: OAuth2, tokens: Tokens | undefined): boolean {
  if (tokens === undefined || tokens.tokenSecret !== undefined || typeof renewal === 'string') return false;
  return renewal === undefined ? tokens.refreshToken !== undefined : tokens.expiresAt !== undefined;
}

/**
 * Renews tokens, and keeps of the old ones what the provider does not give anew. `invalid_grant` is `reauthorize`.
 * Undefined where a person has to log in again.
 */
export async function renewGrant(
  http: Http,
  clock: Clock,
  login: OAuth2,
  { app, tokens, values = {} }: { app: App; tokens: Tokens; values?: Values },
): Promise<Tokens | undefined> {
  if (!isRenewable(login, tokens)) return undefined;
  const { renewal } = login;
  if (typeof renewal === 'object') {
    const query = { grant_type: renewal.grant, access_token: tokens.accessToken };
    return { ...tokens, ...grantOf(login, clock, await http.get(renewal.at, Reply, { query })).tokens };
  }
  const { refreshToken, refreshExpiresAt } = tokens;
  const known = { ...values, ...tokens.values, state: randomBase64url(24) };
  const reply = await ask(http, login, app, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken!, // `isRenewable`
    ...filled(login.renewAsks, known),
  });
  const fresh = grantOf(login, clock, reply).tokens;
  const isSame = fresh.refreshToken === undefined || fresh.refreshToken === refreshToken;
  return {
    ...(refreshToken !== undefined && { refreshToken }),
    ...(isSame && refreshExpiresAt && { refreshExpiresAt }),
    ...fresh,
    ...((tokens.values ?? fresh.values) && { values: { ...tokens.values, ...fresh.values } }),
  };
}

/** Ends a login at the provider, where it can be ended alone; answers false where it cannot. */
export async function revokeGrant(
  http: Http,
  login: OAuth2,
  { app, tokens }: { app: App; tokens: Tokens },
): Promise<boolean> {
  const { revoke } = login;
  const token = revoke?.of === 'refresh' ? tokens.refreshToken : tokens.accessToken;
  if (!revoke || token === undefined) return false;
  const { form, headers } = clientOf(login, app);
  await http.post(revoke.at, z.unknown(), { form: { [revoke.tokenName ?? 'token']: token, ...form }, headers });
  return true;
}

/**
 * Names the scopes that were asked for and not granted. A scope covers those beneath it, as `read` covers
 * `read:accounts` (Mastodon).
 */
export const missingScopes = ({ scopes, optionalScopes = [] }: OAuth2, granted: readonly string[] | undefined) =>
  granted === undefined
    ? []
    : scopes.filter(
        (asked) =>
          !optionalScopes.includes(asked) && !granted.some((one) => asked === one || asked.startsWith(`${one}:`)),
      );

/**
 * Checks client id and secret with a code that was never issued: a provider that refuses the code, and not the client,
 * knows the client. Needs `CodeRefusal`.
 */
export const checkClient = (http: Http, clock: Clock, login: OAuth2, app: App, redirectUri: string): Promise<void> =>
  whenFailed(
    'reauthorize',
    async () => {
      await exchangeCode(http, clock, login, { app, code: 'check', verifier: 'x'.repeat(43), redirectUri });
    },
    async () => undefined,
  );
