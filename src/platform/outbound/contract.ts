import { AppError, type ErrorCode, fieldError, invalidField } from '../kernel/index.ts';

/**
 * The only way out to an address that a user can influence. Every name is resolved here, every address judged, and the
 * connection pinned to a judged one; https only, but for ranges that the operator opened (spec, outbound request
 * protection). Every failure is an `OutboundError`.
 */
export interface Outbound extends AsyncDisposable {
  /** Sends and reads the whole answer. */
  fetch(url: string, request?: OutboundRequest): Promise<OutboundAnswer>;
  /** Sends and answers as soon as the head of the answer is there; the body must be read to its end or cancelled. */
  stream(url: string, request?: OutboundRequest): Promise<OutboundStream>;
  /** A websocket through the same guard: `wss:`, and `ws:` into opened ranges. */
  webSocket(url: string, protocols?: readonly string[]): WebSocket;
  /** Checks a URL without resolving its name; throws like `fetch` for a bad form or a refused literal address. */
  judge(url: string): URL;
  /** The same, and resolves its name: also throws for refused addresses, and `unreachable` where it has none. */
  judgeResolved(url: string): Promise<URL>;
  /**
   * The same over a proxy, and never past it. Names are resolved and judged here, and the proxy is asked for the judged
   * address; its own address is judged, too, but where the operator lists it for its owner (`EGRESS_SIDECARS`). The
   * same route for the same proxy.
   */
  through(proxy: OutboundProxy): EgressRoute;
}

/** Calls that an egress route can make, direct or over a proxy. */
export type EgressRoute = Pick<Outbound, 'fetch' | 'stream' | 'webSocket'>;

export interface OutboundProxy {
  /** HTTP CONNECT, over TLS with `https`; SOCKS5 is RFC 1928. */
  protocol: 'socks5' | 'http' | 'https';
  host: string;
  port: number;
  username?: string | undefined;
  password?: string | undefined;
  /** Its name for people, used in failures. */
  label: string;
  /** The organization whose setting it is; null: the instance's. Without one no listed address counts. */
  owner?: string | null;
}

/**
 * `login`: it does not take ours. `forbidden`: it does not allow this connection. `certificate`: its own is not good.
 * `blocked`: its address may not be called. `down`: it cannot be reached, or is no proxy. `target`: it found no
 * connection onward.
 */
export type ProxyFault = 'login' | 'forbidden' | 'certificate' | 'blocked' | 'down' | 'target';

export interface OutboundRequest {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  /** A stream says how long it is and follows no redirect; it is begun anew for each address that is tried. */
  body?: string | Uint8Array | { from: AsyncIterable<Uint8Array>; bytes: number };
  /**
   * Milliseconds for everything: names, connections, redirects, the whole body. Default: `OUTBOUND_HTTP_TIMEOUT_MS`.
   */
  timeoutMs?: number;
  /**
   * For a stream: `timeoutMs` is for all but its sending, which is limited by these. What the system keeps of it for a
   * slow receiver has its time after it.
   */
  upload?: UploadLimits;
  /** Greatest length of the body after decompression. Default 1 MiB: `fetch` holds it in memory. */
  maxBytes?: number;
  /** The treatment of a longer body: an error, or the end of what is read. Default `fail`. */
  onTooLarge?: 'fail' | 'cut';
  /**
   * `follow-safe`: redirects of GET and HEAD. `keep-body`: only 307 and 308, with method and body. `none`: never.
   * A redirect that is not followed is the answer. At most 5 hops. Default `follow-safe`.
   */
  redirects?: 'follow-safe' | 'keep-body' | 'none';
  /**
   * Headers that may also go to another origin; besides these only accept, accept-language, content-type, range and
   * user-agent do.
   */
  carried?: readonly string[];
  /**
   * Nothing is sent beside Host, Content-Length and `headers`, over a connection of its own. For bodies that are no
   * stream.
   */
  bare?: boolean;
  signal?: AbortSignal;
}

/** How slowly a body may be taken. */
export interface UploadLimits {
  /** Bytes for each millisecond of the time that the whole of it has. */
  bytesPerMs: number;
  /** Milliseconds in which nothing of it is taken. */
  silenceMs: number;
}

export interface OutboundHead {
  status: number;
  headers: Headers;
  /** The address of the last hop. */
  url: string;
}
export interface OutboundAnswer extends OutboundHead {
  body: Uint8Array;
  text(): string;
  /** The parsed body; a `SyntaxError` when it is no JSON. */
  json(): unknown;
}
export interface OutboundStream extends OutboundHead {
  /** Decompressed; ends with an `OutboundError` when it is too long or too slow. */
  body: AsyncIterable<Uint8Array>;
  cancel(): void;
}

/**
 * `invalid`: not a URL that could be called. `blocked`: `Blocked URL`. `too_many_redirects`: `Too many redirects`.
 * `unreachable`: no connection, so surely nothing was sent. `interrupted`: sent, and no whole answer. `timeout`: see
 * `sent`. `too_large`: longer than `maxBytes`. `busy`: too many requests wait for that address, and nothing was sent.
 */
export type OutboundFailure =
  | 'invalid'
  | 'blocked'
  | 'too_many_redirects'
  | 'unreachable'
  | 'interrupted'
  | 'timeout'
  | 'too_large'
  | 'busy';

/** After which an address that had too many requests may be asked again. */
const RETRY_BUSY_MS = 1_000;
const CODES: Record<OutboundFailure, ErrorCode> = {
  invalid: 'validation_failed',
  blocked: 'blocked_url',
  too_many_redirects: 'blocked_url',
  unreachable: 'provider_failed',
  interrupted: 'provider_failed',
  timeout: 'provider_failed',
  too_large: 'too_large',
  busy: 'busy',
};

export class OutboundError extends AppError {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;
  /** True when the request, or a part of it, may have reached the other side. */
  readonly sent: boolean;
  /** Where it was the proxy that made no connection. */
  readonly proxy: ProxyFault | undefined;

  constructor(
    failure: OutboundFailure,
    message: string,
    options: ErrorOptions & { sent?: boolean; proxy?: ProxyFault | undefined } = {},
  ) {
    super(CODES[failure], message, failure === 'busy' ? { retryAfterMs: RETRY_BUSY_MS } : {}, options);
    this.failure = failure;
    this.sent = options.sent ?? false;
    this.proxy = options.proxy;
  }

  /**
   * The refusal of an address that somebody typed into a field, with what is taken there and the setting by which the
   * operator takes more.
   */
  ofField(field: string): AppError {
    if (this.failure === 'invalid') return invalidField(field, 'is not a URL', 'invalid_format');
    const sentence = `${this.message}. Taken are https addresses of the public internet; the operator opens ranges of others with SSRF_ALLOWED_PRIVATE_CIDRS`;
    return new AppError(this.code, this.message, { errors: [fieldError(field, sentence, this.code)] }, { cause: this });
  }
}
