import { z } from 'zod';
import type { AuthRoom, Browser, SessionTokens } from '../auth/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Claim, Identity } from '../identity/index.ts';
import {
  AppError,
  bind,
  invalidField,
  notFound,
  ProviderError,
  randomBase62,
  randomBase64url,
  sha256,
  type Vault,
} from '../../platform/kernel/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { Account, AuthAdapter, PersonLogin, Providers } from '../../providers/registry/index.ts';
import {
  type LoginAddresses,
  defaultRedirect,
  isOwnRedirect,
  ownOrigins,
  placeholderEmail,
  readProof,
  tidy,
} from './rules.ts';
import * as store from './store.ts';

/** A way to log in that is offered. */
export interface Offered {
  adapter: AuthAdapter;
  name: string;
}
/** The parameters of the callback, or for a wallet the proof as `code` and its nonce as `state`. */
export interface Completion {
  code: string;
  state: string;
  redirectUri?: string | undefined;
  iss?: string | undefined;
}
/** `token`: stands once, and only in this browser, for an account that has no user yet. */
export type CompletedLogin = { credentials: SessionTokens } | { token: string };
export interface Newcomer {
  company: string;
  name?: string | undefined;
  timezone?: string | undefined;
  claim?: Claim;
}

/**
 * Login by a provider (S36): whatever begins here ends in the same browser, once, within ten minutes. `browser` is the
 * value of its cookie.
 */
export type FederatedLogin = ReturnType<typeof openFederatedLogin>;

interface FederatedLoginOptions {
  sql: Database;
  vault: Vault;
  providers: Pick<Providers, 'list' | 'fields' | 'login' | 'resolve'>;
  settings: Pick<ProviderSettings, 'configured'>;
  identity: Pick<Identity, 'findProviderAccount' | 'registerWithProvider'>;
  sessions: Pick<AuthRoom['sessions'], 'start'>;
  addresses: LoginAddresses;
  /** Providers configured in the environment, by id. */
  fallbacks: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface FederatedLoginDeps extends FederatedLoginOptions {
  /** The providers of the environment, as those of the settings are read. */
  environment: readonly (Offered & { values: ReturnType<Providers['fields']> })[];
}

const LIFE_MS = 10 * 60_000;
const Begun = z.object({ nonce: z.string(), verifier: z.string(), redirectUri: z.string() });
const Known = z.object({
  providerId: z.string(),
  email: z.string().nullable(),
  name: z.string(),
  avatarUrl: z.string().nullable(),
});

const beginAgain = () =>
  new AppError('invalid_request', 'This login is over, or was begun in another browser: begin again');
const unknownProvider = () => notFound('No such login provider here');

/** A refusal is the person's to hear; a fault of the line stays one. */
function asLoginError(adapter: AuthAdapter, error: unknown): unknown {
  if (!(error instanceof ProviderError) || ['unavailable', 'lost', 'rate_limited'].includes(error.failure))
    return error;
  return new AppError('invalid_request', error.message, { provider: adapter.id }, { cause: error });
}

const keyOf = (adapter: AuthAdapter, text: string, browser: string): store.Key => ({
  hash: sha256(text),
  browserHash: sha256(browser),
  providerId: adapter.id,
});

/** The database first; the environment for providers of which it says nothing. */
async function inUse({ settings, environment }: FederatedLoginDeps) {
  const stored = await settings.configured(null, 'auth');
  const kept = [...stored.values()].filter((one) => one !== undefined);
  return [...kept, ...environment.filter(({ adapter }) => !stored.has(adapter.id))];
}

async function find(
  deps: FederatedLoginDeps,
  providerId: string,
): Promise<{ adapter: AuthAdapter; port: PersonLogin }> {
  const found = (await inUse(deps)).find(({ adapter }) => adapter.id === providerId.toLowerCase());
  if (!found) throw unknownProvider();
  return { adapter: found.adapter, port: deps.providers.login(found.adapter, found.values) };
}

async function asked<T>(adapter: AuthAdapter, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw asLoginError(adapter, error);
  }
}

/** Reads who signed; the nonce is used up, whatever comes of it. */
async function verify(
  { sql, addresses }: FederatedLoginDeps,
  adapter: AuthAdapter,
  port: Extract<PersonLogin, { by: 'proof' }>,
  text: string,
  browser: string,
  state?: string,
): Promise<Account> {
  const proof = readProof(text);
  if (!proof || (state !== undefined && state !== proof.nonce)) throw beginAgain();
  if ((await store.takeLoginState(sql, 'nonce', keyOf(adapter, proof.nonce, browser))) === undefined)
    throw beginAgain();
  return tidy(await asked(adapter, port.verify({ ...proof, origins: ownOrigins(addresses) })));
}

/** Reads who came back from the consent page; the state is used up, whatever comes of it. */
async function identify(
  { sql, vault }: FederatedLoginDeps,
  adapter: AuthAdapter,
  port: Extract<PersonLogin, { by: 'consent' }>,
  { code, state, redirectUri, iss }: Completion,
  browser: string,
): Promise<Account> {
  const sealed = await store.takeLoginState(sql, 'consent', keyOf(adapter, state, browser));
  if (sealed === undefined) throw beginAgain();
  const begun = Begun.parse(JSON.parse(vault.open(sealed)));
  if (redirectUri !== undefined && redirectUri !== begun.redirectUri)
    throw invalidField('redirect_uri', 'is not the one that the login began with');
  return tidy(await asked(adapter, port.identify({ ...begun, state, code, iss })));
}

/** The account behind a token of `complete`, or behind a proof; either counts once. */
async function redeem(
  deps: FederatedLoginDeps,
  providerId: string,
  providerToken: string,
  browser: string,
): Promise<{ adapter: AuthAdapter; account: Account }> {
  const { adapter, port } = await find(deps, providerId);
  const sealed = await store.takeLoginState(deps.sql, 'account', keyOf(adapter, providerToken, browser));
  if (sealed !== undefined) return { adapter, account: Known.parse(JSON.parse(deps.vault.open(sealed))) };
  if (port.by !== 'proof') throw beginAgain();
  return { adapter, account: await verify(deps, adapter, port, providerToken, browser) };
}

/** Where a provider should name an address and does not, nobody can be registered. */
function emailOf({ by, id, title }: AuthAdapter, { email, providerId }: Account): string {
  if (email !== null) return email;
  if (by === 'proof') return placeholderEmail(id, providerId);
  throw new AppError(
    'invalid_request',
    `${title} names no verified e-mail address of this account (claim email): verify one there first`,
    { provider: id },
  );
}

/** Lists the login providers that are offered, email and password first. */
async function list(deps: FederatedLoginDeps): Promise<readonly Offered[]> {
  const others = (await inUse(deps)).map(({ adapter, name }) => ({ adapter, name }));
  const passwords = deps.providers.list('auth').filter(({ by }) => by === 'password');
  return [
    ...passwords.map((adapter) => ({ adapter, name: adapter.title })),
    ...others.toSorted((a, b) => a.name.localeCompare(b.name, 'en')),
  ];
}

/** The address of the provider's consent page. */
async function begin(
  deps: FederatedLoginDeps,
  providerId: string,
  call: { redirectUri?: string | undefined; browser: string },
): Promise<string> {
  const { addresses, sql, vault } = deps;
  const { redirectUri = defaultRedirect(addresses, providerId.toLowerCase()), browser } = call;
  const { adapter, port } = await find(deps, providerId);
  if (port.by !== 'consent')
    throw new AppError('invalid_request', `${adapter.title} logs in by a signature: ask for a nonce`, {
      provider: adapter.id,
    });
  if (!isOwnRedirect(redirectUri, addresses)) throw invalidField('redirect_uri', 'is no address of this application');
  const state = randomBase64url(32);
  const begun = { nonce: randomBase64url(32), verifier: randomBase64url(48), redirectUri };
  const url = await asked(adapter, port.authorize({ ...begun, state }));
  await store.insertLoginState(
    sql,
    'consent',
    keyOf(adapter, state, browser),
    vault.seal(JSON.stringify(begun)),
    LIFE_MS,
  );
  return url;
}

/** A nonce for a wallet to sign, and the whole message where it can be written here. */
async function challenge(
  deps: FederatedLoginDeps,
  providerId: string,
  { address, browser }: { address?: string | undefined; browser: string },
): Promise<{ nonce: string; message?: string }> {
  const { addresses, sql, vault } = deps;
  const { adapter, port } = await find(deps, providerId);
  if (port.by !== 'proof')
    throw new AppError('invalid_request', `${adapter.title} does not log in by a signature`, {
      provider: adapter.id,
    });
  const nonce = randomBase62(32);
  const message =
    address === undefined ? undefined : await port.message({ nonce, origins: ownOrigins(addresses), address });
  if (address !== undefined && message === undefined)
    throw invalidField('address', 'is not the address of a wallet that is asked here');
  await store.insertLoginState(sql, 'nonce', keyOf(adapter, nonce, browser), vault.seal('{}'), LIFE_MS);
  return { nonce, ...(message !== undefined && { message }) };
}

async function complete(
  deps: FederatedLoginDeps,
  providerId: string,
  completion: Completion,
  browser: string,
  device: Browser,
): Promise<CompletedLogin> {
  const { identity, sessions, sql, vault } = deps;
  const { adapter, port } = await find(deps, providerId);
  if (port.by === 'password') throw unknownProvider();
  const account =
    port.by === 'proof'
      ? await verify(deps, adapter, port, completion.code, browser, completion.state)
      : await identify(deps, adapter, port, completion, browser);
  const userId = await identity.findProviderAccount(adapter.id, account.providerId);
  if (userId !== undefined) return { credentials: await sessions.start(userId, device) };
  emailOf(adapter, account);
  const token = randomBase64url(32);
  await store.insertLoginState(
    sql,
    'account',
    keyOf(adapter, token, browser),
    vault.seal(JSON.stringify(account)),
    LIFE_MS,
  );
  return { token };
}

/** For `POST /auth/register`: makes the user of a token or a proof, and logs in. */
async function register(
  deps: FederatedLoginDeps,
  providerId: string,
  providerToken: string,
  { company, name, timezone = 'UTC', claim }: Newcomer,
  browser: string,
  device: Browser,
): Promise<SessionTokens> {
  const { adapter, account } = await redeem(deps, providerId, providerToken, browser);
  const { userId } = await deps.identity.registerWithProvider({
    providerName: adapter.id,
    providerId: account.providerId,
    email: emailOf(adapter, account),
    name: name ?? account.name,
    avatarUrl: account.avatarUrl,
    registersWhenClosed: adapter.registersWhenClosed,
    company,
    timezone,
    ...(claim && { claim }),
    ...device,
  });
  return deps.sessions.start(userId, device);
}

/** For `POST /auth/login`: the user of a token or a proof. */
async function login(
  deps: FederatedLoginDeps,
  providerId: string,
  providerToken: string,
  browser: string,
  device: Browser,
): Promise<SessionTokens> {
  const { adapter, account } = await redeem(deps, providerId, providerToken, browser);
  const userId = await deps.identity.findProviderAccount(adapter.id, account.providerId);
  if (userId === undefined)
    throw new AppError('invalid_request', 'Nobody has registered with this account', { provider: adapter.id });
  return deps.sessions.start(userId, device);
}

/** Forgets what nobody ended in time, at most `limit`; answers how many. */
const dropOld = ({ sql }: FederatedLoginDeps, limit: number): Promise<number> => store.dropOldLoginStates(sql, limit);

/** Opens the logins by providers: those of the settings, and those of the environment. */
export function openFederatedLogin(opened: FederatedLoginOptions) {
  const { providers, fallbacks } = opened;
  const environment = Object.entries(fallbacks).map(([id, values]) => {
    const adapter = providers.resolve('auth', id);
    return { adapter, name: adapter.title, values: providers.fields(adapter, values) };
  });
  const deps: FederatedLoginDeps = { ...opened, environment };
  return bind(deps, { list, begin, challenge, complete, register, login, dropOld });
}
