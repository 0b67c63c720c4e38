import { EventEmitter } from 'node:events';
import { type Duplex, Readable } from 'node:stream';
import { Agent, errors, WebSocket as GuardedWebSocket } from 'undici';
import { sendBare } from './bare.ts';
import { readAnswerBody, readWhole } from './body.ts';
import { OutboundError, type OutboundHead, type OutboundRequest, type EgressRoute } from './contract.ts';
import type { RunSpan } from '../telemetry/index.ts';
import { blocked, type Guard } from './guard.ts';
import { type Beneath, isConnectFailure, openPools, pinnedConnector } from './pools.ts';
import { ProxyFailure } from './proxy-failure.ts';
import { openDeadline, sentWithin } from './upload.ts';

const MOST_HOPS = 5;
const MOST_ADDRESSES = 4; // of one name are tried
const DEFAULT_MAX_BYTES = 1024 * 1024;
const CLOSE_MS = 500;
const MESSAGE_BYTES = 1024 * 1024; // of one message of a websocket
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that say nothing about who asks; all others stay with the origin they were meant for. */
const CARRIED = ['accept', 'accept-language', 'content-type', 'range', 'user-agent'];
/** Made here, never by the caller. */
const OWN = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'keep-alive',
  'te',
  'trailer',
  'proxy-connection',
  'expect',
]);

interface RouteOptions {
  guard: Guard;
  beneath: Beneath;
  /** Milliseconds of a request that names none. */
  timeoutMs: number;
  /** The addresses of a URL that may be called. */
  judged(url: URL): Promise<string[]>;
  /** Runs a request as a span. */
  span?: RunSpan | undefined;
}

/** A route with its connections, as its functions are handed it. */
interface Deps extends RouteOptions {
  pools: ReturnType<typeof openPools>;
}

interface Prepared {
  method: string;
  headers: Record<string, string>;
  body: () => string | Uint8Array | Readable | null;
  signal: End;
  timedOut: () => boolean;
  /** Takes the deadline away, once everything was read. */ done: () => void;
  /** True once a connection was asked for. */ attempted: boolean;
  redirects: NonNullable<OutboundRequest['redirects']>;
  carried: ReadonlySet<string>;
  bare: boolean;
}
interface Received extends OutboundHead {
  body: Readable;
  /** The content codings of the body. */
  coding: string | null;
}
/**
 * The end of a request, told to whoever listens: an AbortController costs several times as much. Not `aborted`: what
 * has that is an AbortSignal to the client below.
 */
class End extends EventEmitter {
  over = false;
  abort(): void {
    if (this.over) return;
    this.over = true;
    this.emit('abort');
  }
}

/** An egress route: to the judged addresses themselves, or over a proxy that is asked for them. */
export function openEgressRoute(options: RouteOptions): EgressRoute & AsyncDisposable & { close(): void } {
  const deps: Deps = { ...options, pools: openPools(options.guard, options.beneath) };
  return {
    async fetch(text, request = {}) {
      const { prepared, answer } = await begun(deps, text, request);
      const body = await whole(answer, prepared, request);
      const { status, url } = answer;
      return {
        status,
        get headers() {
          return answer.headers;
        },
        url,
        body,
        text: () => body.toString('utf8'),
        json: () => JSON.parse(body.toString('utf8')) as unknown,
      };
    },

    async stream(text, request = {}) {
      const { prepared, answer } = await begun(deps, text, request);
      const { status, headers, url } = answer;
      answer.body.on('error', () => undefined); // one that nobody reads any more must not end the process
      const cancel = () => {
        answer.body.destroy();
        prepared.done();
      };
      return { status, headers, url, body: reading(answer, prepared, request), cancel };
    },

    webSocket: (text, protocols) => openWebSocket(deps, text, protocols),
    close: () => deps.pools.close(),
    [Symbol.asyncDispose]: () => deps.pools[Symbol.asyncDispose](),
  };
}

/** One request to one URL: the addresses of its name in turn, until one of them can be connected to. */
async function exchange(deps: Deps, url: URL, headers: Record<string, string>, request: Prepared): Promise<Received> {
  const { signal } = request;
  const { judged } = deps;
  const addresses = await until(signal, judged(url));
  let failure: unknown;
  request.attempted = true;
  for (const address of addresses.slice(0, MOST_ADDRESSES)) {
    try {
      return receivedOf(await sendTo(deps, url, address, headers, request), url.href);
    } catch (error) {
      if (!isConnectFailure(error) || signal.over || !mayBeElsewhere(error)) throw error;
      failure = error;
    }
  }
  throw failure ?? new OutboundError('unreachable', `No address for ${url.hostname}`);
}

/** One request to one address. */
function sendTo(
  deps: Deps,
  url: URL,
  address: string,
  headers: Record<string, string>,
  { method, body, signal, bare }: Prepared,
) {
  const content = body();
  if (bare && !(content instanceof Readable))
    return sendBare(deps, url, address, { method, headers, body: content, signal });
  return deps.pools.request(url, address, { method: method as 'GET', headers, body: content, signal });
}

/**
 * Follows redirects by hand: every target is judged like the first URL, and credentials stay where they were meant to
 * go.
 */
async function send(deps: Deps, text: string, request: Prepared): Promise<Received> {
  let url = deps.guard.judgeUrl(text);
  let { headers } = request;
  for (let hops = 0; ; hops += 1) {
    const answer = await exchange(deps, url, headers, request).catch((error: unknown) => {
      throw asOutboundError(error, request, hops > 0);
    });
    const location = redirectOf(answer, request);
    if (location === undefined) return answer;
    answer.body.on('error', () => undefined);
    answer.body.destroy();
    if (hops === MOST_HOPS) throw new OutboundError('too_many_redirects', 'Too many redirects', { sent: true });
    const target = URL.parse(location, url);
    const next = target && deps.guard.judgeUrl(target.href);
    if (!next || (url.protocol === 'https:' && next.protocol !== 'https:')) throw blocked();
    if (next.origin !== url.origin)
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => request.carried.has(name.toLowerCase())));
    url = next;
  }
}

async function* reading(
  answer: Received,
  request: Prepared,
  { maxBytes = DEFAULT_MAX_BYTES, onTooLarge = 'fail' }: OutboundRequest,
): AsyncGenerator<Uint8Array> {
  try {
    yield* readAnswerBody(answer.body, answer.coding, { maxBytes, onTooLarge });
  } catch (error) {
    throw asOutboundError(error, request, true);
  } finally {
    request.done();
  }
}
async function whole(answer: Received, request: Prepared, options: OutboundRequest): Promise<Buffer> {
  const { maxBytes = DEFAULT_MAX_BYTES, onTooLarge } = options;
  if (answer.coding !== null || onTooLarge === 'cut') {
    const pieces: Uint8Array[] = [];
    for await (const piece of reading(answer, request, options)) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  try {
    return await readWhole(answer.body, maxBytes);
  } catch (error) {
    throw asOutboundError(error, request, true);
  } finally {
    request.done();
  }
}
/**
 * The request up to the head of its answer, as a span. Only the host is told of its address, which may hold secrets, and
 * a network is told nothing of our traces.
 */
function begun(deps: Deps, text: string, request: OutboundRequest): ReturnType<typeof beginRequest> {
  const { span } = deps;
  if (!span) return beginRequest(deps, text, request);
  const { method = 'GET' } = request;
  const attributes = { 'http.request.method': method, 'server.address': URL.parse(text)?.hostname };
  return span({ name: method, kind: 'client', attributes }, async (running) => {
    const begins = await beginRequest(deps, text, request);
    running.set({ 'http.response.status_code': begins.answer.status });
    if (begins.answer.status >= 400) running.fail(`${begins.answer.status}`);
    return begins;
  });
}

async function beginRequest(
  deps: Deps,
  text: string,
  request: OutboundRequest,
): Promise<{ prepared: Prepared; answer: Received }> {
  const prepared = prepare(request, deps.timeoutMs);
  try {
    return { prepared, answer: await send(deps, text, prepared) };
  } catch (error) {
    prepared.done();
    throw error;
  }
}

/** A websocket to the first judged address of its URL. */
function openWebSocket({ guard, beneath, judged }: Deps, text: string, protocols: readonly string[] = []): WebSocket {
  const url = guard.judgeUrl(text, ['wss:', 'ws:']);
  let connection: Duplex | undefined;
  const dispatcher = new Agent({
    allowH2: false,
    connections: 1,
    webSocket: { maxPayloadSize: MESSAGE_BYTES },
    connect: (options, callback) => {
      judged(url).then(
        ([address]) =>
          pinnedConnector(
            guard,
            url.hostname.replace(/^\[|\]$/g, ''),
            address!,
            beneath,
          )(options, (...made) => {
            connection = made[1] ?? undefined;
            callback(...made);
          }),
        (error: Error) => callback(error, null),
      );
    },
  });
  const socket = new EndingWebSocket(url.href, { protocols: [...protocols], dispatcher });
  socket.cut = () => connection?.destroy();
  socket.addEventListener('close', () => void dispatcher.destroy().catch(() => undefined));
  return socket as unknown as WebSocket; // undici's and the platform's are one class in two declarations
}

/** Closed at the latest half a second after `close`, whatever the other side goes on to send. */
class EndingWebSocket extends GuardedWebSocket {
  cut = (): void => {};
  override close(...why: Parameters<GuardedWebSocket['close']>): void {
    super.close(...why);
    setTimeout(() => this.cut(), CLOSE_MS).unref();
  }
}

function prepare(request: OutboundRequest, defaultTimeout: number): Prepared {
  const headers = Object.fromEntries(
    Object.entries(request.headers ?? {}).filter(([name]) => !OWN.has(name.toLowerCase())),
  );
  const end = new End();
  let timedOut = false;
  const { timeoutMs = defaultTimeout, upload } = request;
  const deadline = openDeadline(timeoutMs, () => {
    timedOut = true;
    end.abort();
  });
  let body: Prepared['body'] = () => null;
  let { redirects = 'follow-safe' } = request;
  if (typeof request.body === 'object' && 'from' in request.body) {
    const stream = request.body;
    const since = performance.now();
    const content = () => (upload ? sentWithin(stream, upload, { deadline, timeoutMs, since }) : stream.from);
    body = () => Readable.from(content(), { objectMode: false });
    headers['content-length'] = String(stream.bytes); // a body of another length fails, and its connection with it
    redirects = 'none';
  } else if (request.body !== undefined) {
    const given = request.body;
    body = () => given;
  }
  const stop = () => end.abort();
  if (request.signal?.aborted) stop();
  else request.signal?.addEventListener('abort', stop, { once: true });
  return {
    method: (request.method ?? 'GET').toUpperCase(),
    headers,
    body,
    signal: end,
    timedOut: () => timedOut,
    done: () => {
      deadline.clear();
      request.signal?.removeEventListener('abort', stop);
    },
    attempted: false,
    redirects,
    bare: request.bare ?? false,
    carried: new Set([...CARRIED, ...(request.carried ?? []).map((name) => name.toLowerCase())]),
  };
}

/** Where to go on, when this answer is a redirect that the caller lets us follow. */
function redirectOf(answer: OutboundHead, { method, redirects }: Prepared): string | undefined {
  const { status } = answer;
  if (!REDIRECTS.has(status) || redirects === 'none') return undefined;
  const followed =
    redirects === 'follow-safe' ? method === 'GET' || method === 'HEAD' : status === 307 || status === 308;
  return followed ? (answer.headers.get('location') ?? undefined) : undefined;
}

type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;
function headersOf(received: RawHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}
/** Its headers are made when somebody asks for them: of most answers nobody does. */
function receivedOf(
  { statusCode: status, headers: raw, body }: { statusCode: number; headers: RawHeaders; body: Readable },
  url: string,
): Received {
  const coding = raw['content-encoding'];
  let headers: Headers | undefined;
  return {
    status,
    get headers() {
      return (headers ??= headersOf(raw));
    },
    url,
    body,
    coding: coding === undefined ? null : [coding].flat().join(', '),
  };
}

/** Ends with the promise or with the request, whichever is first. */
function until<T>(end: End, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error('The request has ended'));
    if (end.over) stop();
    end.once('abort', stop);
    const off = () => end.removeListener('abort', stop);
    promise.then(
      (value) => {
        off();
        resolve(value);
      },
      (error: unknown) => {
        off();
        reject(error as Error);
      },
    );
  });
}

/** A proxy that is at fault itself is so for every address. */
const mayBeElsewhere = (error: unknown): boolean => !(error instanceof ProxyFailure) || error.fault === 'target';

/** Connecting failures are surely unsent; of all others the other side may have seen something. */
function asOutboundError(
  error: unknown,
  { timedOut, signal, attempted: sent }: Prepared,
  sentBefore: boolean,
): unknown {
  if (error instanceof OutboundError) return error;
  const connecting = isConnectFailure(error);
  if (timedOut()) return new OutboundError('timeout', 'timeout', { cause: error, sent });
  if (signal.over) return new OutboundError('interrupted', 'The request was given up', { cause: error, sent });
  if (error instanceof errors.InvalidArgumentError)
    return new OutboundError(
      'invalid',
      'This request cannot be sent: a header or the URL holds what may not be there',
      { cause: error },
    );
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const reason = String(code ?? message ?? error);
  const proxy = error instanceof ProxyFailure ? error.fault : undefined;
  return connecting && !sentBefore
    ? new OutboundError('unreachable', `No connection: ${reason}`, { cause: error, proxy })
    : new OutboundError('interrupted', connecting ? `No connection: ${reason}` : `No answer: ${reason}`, {
        cause: error,
        sent: true,
      });
}
