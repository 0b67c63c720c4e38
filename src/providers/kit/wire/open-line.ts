import { AppError, type Clock, ProviderError } from '../../../platform/kernel/index.ts';
import { type Outbound, until } from '../../../platform/outbound/index.ts';
import type { Domain, Manifest, Setup } from '../declare/adapter.ts';
import type { Values } from '../declare/fields.ts';
import { openTokenStore } from '../declare/held-tokens.ts';
import { openInstances } from '../declare/instances.ts';
import type { HeldToken, HeldTokens, Line, Tool, Use } from '../declare/line.ts';
import { openFetch } from './open-fetch.ts';
import { fill, openConnection } from './connection.ts';
import { type HttpOptions, openHttp } from './open-http.ts';
import { openLarge } from './open-large.ts';
import { openWebPages } from './open-web-pages.ts';
import { openS3 } from './open-s3.ts';
import { openSmtp } from './open-smtp.ts';
import { openSockets } from './open-sockets.ts';
import { openStream } from './open-stream.ts';
import { openWebFetch } from './open-web-fetch.ts';
import { redactor } from '../declare/redact.ts';

/** The part of an adapter that a line needs. */
export interface Provider extends Manifest {
  domain: Domain;
  setup?: Setup;
}
/** A line with every tool; the type of its line lets an adapter name those of its domain only. */
export type FullLine = Line<Tool>;

/** The result of one operation of a provider version: a method of its contract, however many exchanges it took. */
export interface Outcome {
  domain: Domain;
  id: string;
  version: string;
  ok: boolean;
}

export interface LineOptions extends Partial<Pick<HttpOptions, 'token' | 'app' | 'renew' | 'secrets'>> {
  /** Replaces the declared `errorOf`. */
  errorOf?: Manifest['errorOf'];
  /** The egress route of a channel or an organization. */
  outbound?: Pick<Outbound, 'fetch' | 'stream' | 'webSocket'> | undefined;
  /** Null for a setting of the instance, whose calls may reach the private ranges of the operator. */
  owner?: string | null | undefined;
  /** Tokens of the account from other connections. Default: none. */
  heldTokens?: HeldTokens;
  /** After its abort nothing is sent, and running calls are cancelled. */
  ended?: AbortSignal | undefined;
}

interface Guard {
  secrets: readonly (string | undefined)[];
  /** Reads further secrets from the argument of a call. */
  ofCall?: (call: unknown) => readonly string[];
}

/** Opens lines to the providers of every domain. */
export interface Lines {
  readonly clock: Clock;
  /** Opens a line whose operations are not counted: `guard` or `call` wraps them. */
  open(adapter: Provider, values: Values, options?: LineOptions): FullLine;
  /** Wraps a contract: failures never show a secret, and operations are counted. */
  guard<T extends object>(adapter: Provider, contract: T, guard: Guard): T;
  /** Runs one operation like those of `guard`. */
  call<T>(adapter: Provider, guard: Guard, work: () => Promise<T>): Promise<T>;
  /**
   * Opens a guarded connection, cached for ten minutes by version, owner and credentials together with all that it has
   * learned; the access tokens of its account are kept until they expire.
   */
  opened<T extends object>(adapter: Provider, use: Use, connect: (line: FullLine) => T, ofCall?: Guard['ofCall']): T;
  /** Drops the cached connections of this owner, and the access tokens. */
  forget(provider: { domain: string; id: string }, orgId: string | null): void;
}

interface Options {
  outbound: Outbound;
  /** Used for settings of the instance. */
  operatorOutbound: Outbound;
  clock: Clock;
  /** Base URLs that replace declared ones, by `domain/id`, or `domain/id/name` for one of its `hosts`. */
  servers: Readonly<Record<string, string>>;
  authorities: readonly string[];
  /** Timeout of a call whose adapter names none. */
  timeoutMs: number;
  folder: string | undefined;
  /** Folder of large answers until they are discarded. */
  answersFolder: string;
  onCall: (outcome: Outcome) => void;
}

/** Connections are opened anew after this time, since they cache the addresses of their provider. */
const INSTANCE_MS = 600_000;
const MOST_INSTANCES = 1_000;

export const secretsOf = ({ credentials, setup }: Pick<Provider, 'credentials' | 'setup'>, values: Values): string[] =>
  Object.entries({ ...setup?.fields, ...credentials })
    .filter(([name, { secret }]) => secret && values[name] !== undefined)
    .map(([name]) => values[name]!);

/** The addresses of further servers, filled, or those that replace them. */
const hostsOf = ({ domain, id, hosts = {} }: Provider, values: Values, servers: Options['servers']) =>
  Object.fromEntries(
    Object.entries(hosts).map(([name, url]) => [name, servers[`${domain}/${id}/${name}`] ?? fill(url, values)]),
  );

export function openLines({
  outbound,
  operatorOutbound,
  clock: lasting,
  servers,
  authorities,
  timeoutMs: usualMs,
  folder,
  answersFolder,
  onCall,
}: Options): Lines {
  const smtp = openSmtp(authorities);
  const instances = openInstances({ clock: lasting, forMs: INSTANCE_MS, most: MOST_INSTANCES });
  const tokenStore = openTokenStore({ clock: lasting, most: MOST_INSTANCES });

  function open(
    adapter: Provider,
    values: Values,
    {
      errorOf = adapter.errorOf,
      secrets = [],
      owner,
      outbound: lastingRoute = owner === null ? operatorOutbound : outbound,
      ended,
      heldTokens = new Map<string, HeldToken>(),
      ...more
    }: LineOptions = {},
  ): FullLine {
    const egressRoute = ended ? until(ended, lastingRoute) : lastingRoute;
    const clock = ended ? { ...lasting, sleep: (ms: number, signal = ended) => lasting.sleep(ms, signal) } : lasting;
    const place = `${adapter.domain}/${adapter.id}`;
    const own = Object.entries(adapter.apiBy ?? {}).find(([field]) => values[field])?.[1];
    const api = servers[place] ?? own ?? adapter.regions?.[values['region'] ?? ''] ?? adapter.api;
    const hosts = hostsOf(adapter, values, servers);
    const timeoutMs = adapter.timeoutMs ?? usualMs;
    const manifest = { ...adapter, api, hosts, timeoutMs, ...(errorOf && { errorOf }) };
    const hidden = [...secretsOf(adapter, values), ...secrets];
    const given = { manifest, clock, values, secrets: hidden, ...more, outbound: egressRoute };
    const connection = openConnection(given);
    const stream = openStream(egressRoute, timeoutMs);
    return {
      http: openHttp({ ...given, connection }),
      large: openLarge({ ...given, connection, folder: answersFolder }),
      fetch: openFetch(egressRoute, timeoutMs),
      webFetch: openWebFetch({ connection, manifest, outbound: egressRoute }),
      stream,
      pages: openWebPages(egressRoute),
      sockets: openSockets(egressRoute),
      smtp,
      s3: openS3({ stream, clock, title: adapter.title }),
      folder,
      base: fill(api, values),
      hosts,
      values,
      clock,
      hide: (secret) => void hidden.push(secret),
      heldTokens,
      refusal: (status, body) => connection.inside(status, body),
      timeoutMs,
    };
  }

  /** Counts an operation, and redacts its failure: `http` redacts its own errors, adapters may word others. */
  async function watched<T>(
    { domain, id, version }: Provider,
    secrets: Guard['secrets'],
    work: Promise<T>,
  ): Promise<T> {
    try {
      const result = await work;
      onCall({ domain, id, version, ok: true });
      return result;
    } catch (error) {
      if (isProvidersFault(error)) onCall({ domain, id, version, ok: false });
      throw cleaned(error, secrets);
    }
  }

  function guard<T extends object>(adapter: Provider, contract: T, { secrets, ofCall = () => [] }: Guard): T {
    const wrap = (member: unknown): unknown => {
      if (isPlain(member)) return guard(adapter, member, { secrets, ofCall });
      if (typeof member !== 'function') return member;
      return (...call: unknown[]): unknown => {
        const result: unknown = (member as (...call: unknown[]) => unknown)(...call);
        const hidden = () => [...secrets, ...ofCall(call[0])];
        if (result instanceof Promise) return watched(adapter, hidden(), result);
        // any other synchronous method calls no provider
        return isAsyncIterable(result) ? watchedStream(onCall, adapter, hidden(), result) : result;
      };
    };
    return Object.fromEntries(Object.entries(contract).map(([name, member]) => [name, wrap(member)])) as T;
  }

  return {
    clock: lasting,
    open,
    guard,
    call: (adapter, { secrets }, work) => watched(adapter, secrets, work()),
    opened: (adapter, use, connect, ofCall) =>
      instances.get(adapter, use, () =>
        guard(
          adapter,
          connect(open(adapter, use.values, { owner: use.orgId, heldTokens: tokenStore.of(adapter, use) })),
          {
            secrets: secretsOf(adapter, use.values),
            ...(ofCall && { ofCall }),
          },
        ),
      ),
    forget(provider, orgId) {
      instances.forget(provider, orgId);
      tokenStore.forget(provider, orgId);
    },
  };
}

/** Watches an answer in pieces: its end counts, and one that is left before counts as nothing. */
async function* watchedStream<T>(
  onCall: Options['onCall'],
  { domain, id, version }: Provider,
  secrets: Guard['secrets'],
  pieces: AsyncIterable<T>,
): AsyncGenerator<T, void> {
  try {
    yield* pieces;
    onCall({ domain, id, version, ok: true });
  } catch (error) {
    if (isProvidersFault(error)) onCall({ domain, id, version, ok: false });
    throw cleaned(error, secrets);
  }
}

/** Excludes unsupported operations and refusals by this service. */
const isProvidersFault = (error: unknown): boolean =>
  error instanceof ProviderError ? error.failure !== 'unsupported' : !(error instanceof AppError);

function cleaned(error: unknown, secrets: Guard['secrets']): unknown {
  if (!(error instanceof ProviderError)) return error;
  const message = redactor(secrets)(error.message);
  return message === error.message
    ? error
    : new ProviderError(error.failure, message, {
        reason: error.reason,
        retryAfterMs: error.retryAfterMs,
      });
}

const isPlain = (member: unknown): member is object =>
  typeof member === 'object' && member !== null && Object.getPrototypeOf(member) === Object.prototype;

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
