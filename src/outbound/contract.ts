import { AppError, type ErrorCode } from '../kernel/index.ts';

/**
 * The only way out to an address that a user can influence. Every name is resolved here, every address judged, and the
 * connection pinned to a judged one; https only, but for ranges that the operator opened (spec, outbound request protection).
 * Every failure is an `OutboundError`.
 */
export interface Outbound extends AsyncDisposable {
  /** Sends and reads the whole answer. */
  fetch(url: string, request?: OutboundRequest): Promise<OutboundAnswer>;
  /** Sends and answers as soon as the head of the answer is there; the body must be read to its end or cancelled. */
  stream(url: string, request?: OutboundRequest): Promise<OutboundStream>;
  /** A websocket through the same guard: `wss:`, and `ws:` into opened ranges. */
  webSocket(url: string, protocols?: readonly string[]): WebSocket;
  /** What can be said of a URL without resolving its name; throws like `fetch` for a bad form or a refused literal address. */
  judge(url: string): URL;
}

export interface OutboundRequest {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array | FormData;
  /** Milliseconds for everything: names, connections, redirects, the whole body. Default: `OUTBOUND_HTTP_TIMEOUT_MS`. */
  timeoutMs?: number;
  /** Greatest length of the body after decompression. Default 10 MiB. */
  maxBytes?: number;
  /** What a longer body means: an error, or the end of what is read. Default `fail`. */
  excess?: 'fail' | 'cut';
  /**
   * `follow-safe`: redirects of GET and HEAD. `keep-body`: only 307 and 308, with method and body. `none`: never.
   * A redirect that is not followed is the answer. At most 5 hops. Default `follow-safe`.
   */
  redirects?: 'follow-safe' | 'keep-body' | 'none';
  /** Headers that may also go to another origin; besides these only accept, accept-language, content-type, range and user-agent do. */
  carried?: readonly string[];
  signal?: AbortSignal;
}

export interface OutboundHead {
  status: number;
  headers: Headers;
  /** Of the last hop. */
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
 * `invalid`: not a URL that could be called. `blocked`: `Blocked URL`. `too_many_redirects`: `Too many redirects`. `unreachable`: no
 * connection, so surely nothing was sent. `interrupted`: sent, and no whole answer. `timeout`: see `sent`. `too_large`: longer than `maxBytes`.
 */
export type OutboundFailure = 'invalid' | 'blocked' | 'too_many_redirects' | 'unreachable' | 'interrupted' | 'timeout' | 'too_large';

const CODES: Record<OutboundFailure, ErrorCode> = {
  invalid: 'validation_failed',
  blocked: 'blocked_url',
  too_many_redirects: 'blocked_url',
  unreachable: 'provider_failed',
  interrupted: 'provider_failed',
  timeout: 'provider_failed',
  too_large: 'too_large',
};

export class OutboundError extends AppError {
  override readonly name = 'OutboundError';
  readonly failure: OutboundFailure;
  /** Whether the request, or a part of it, may have reached the other side. */
  readonly sent: boolean;

  constructor(failure: OutboundFailure, message: string, options: ErrorOptions & { sent?: boolean } = {}) {
    super(CODES[failure], message, {}, options);
    this.failure = failure;
    this.sent = options.sent ?? false;
  }
}
