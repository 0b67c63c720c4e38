import type { Credential } from './credential.ts';
import { refusalOf, RookeryError, unreachable, UnreachableError } from './errors.ts';

export interface Clock {
  now(): number;
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
export interface TransportOptions {
  credential: Credential;
  fetch: typeof globalThis.fetch;
  clock: Clock;
  /** How long one call may wait for `Retry-After` and between repetitions, all together. */
  maxWaitMs: number;
  /** How long one attempt may be without an answer, and the body of an answer without a byte. */
  timeoutMs: number;
  /** Told of each wait before it begins, and why. */
  onWait?: ((ms: number, why: Error) => void) | undefined;
}
export interface Transport {
  /** Sends what `make` makes, anew for each attempt; `once` for a body that can be read a single time. */
  send(make: () => Request, options?: { once?: boolean }): Promise<Response>;
}

type Piece = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;

const PAUSES_MS = [250, 1_000, 4_000];
/** Of a proxy, or of a service that has lost its database: nobody knows whether what was asked has been done. */
const AWAY = new Set([502, 503, 504]);
/** Refusals of a service that has done nothing: the first request still runs, it has too much to do, or it stops. */
const UNDONE = new Set<string | undefined>(['idempotency_in_flight', 'busy', 'draining']);

/** May it be sent again when nobody knows what became of it? */
const isRepeatable = ({ method, headers }: Request) =>
  ['GET', 'HEAD', 'PUT'].includes(method) || headers.has('idempotency-key');

/** After which pause a refusal is worth another attempt. */
function pauseOf({ status, code, retryAfterSeconds }: RookeryError, repeatable: boolean, attempt: number) {
  const isAway = AWAY.has(status) && code !== 'provider_failed' && repeatable;
  if (retryAfterSeconds !== undefined && (status === 429 || UNDONE.has(code) || (isAway && status === 503)))
    return Math.max(retryAfterSeconds * 1_000, PAUSES_MS[0]!); // 0 says nothing of how long it goes on
  return isAway ? PAUSES_MS[attempt] : undefined;
}

/** A stream of events is silent for as long as nothing happens. */
const isStream = ({ headers }: Response) => headers.get('content-type')?.startsWith('text/event-stream');

/** The answer with a body that is read as it is asked for; `next` reads a piece of it, or fails. */
function withBody(answer: Response, next: (read: () => Promise<Piece>) => Promise<Piece>): Response {
  if (!answer.body || isStream(answer)) return answer;
  const reader = answer.body.getReader();
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await next(() => reader.read());
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  };
  return new Response(new ReadableStream(source, { highWaterMark: 0 }), answer);
}

/** Shows the credential, renews it, waits as the service asks, and throws for each refusal. */
export function openTransport({ credential, fetch, clock, maxWaitMs, timeoutMs, onWait }: TransportOptions): Transport {
  async function attemptOnce(request: Request, limited: boolean): Promise<Response> {
    const abort = new AbortController();
    const stop = () => abort.abort(request.signal.reason);
    if (request.signal.aborted) stop();
    request.signal.addEventListener('abort', stop);
    async function within<T>(work: () => Promise<T>, isLimited = true): Promise<T> {
      const timer = isLimited ? setTimeout(() => abort.abort(), timeoutMs) : undefined;
      try {
        return await work();
      } catch (error) {
        if (request.signal.aborted) throw error; // the caller's own wish
        throw unreachable(request.url, error, abort.signal.aborted ? `no answer in ${timeoutMs} ms` : undefined);
      } finally {
        clearTimeout(timer);
      }
    }
    return withBody(await within(() => fetch(request, { signal: abort.signal }), limited), within);
  }

  return {
    async send(make, { once = false } = {}) {
      let waitedMs = 0;
      let renewed = false;
      for (let attempt = 0; ; attempt += 1) {
        const shown = await credential.current();
        const request = make();
        if (shown !== undefined) request.headers.set('authorization', shown);
        const repeatable = isRepeatable(request) && !once;
        let failure: RookeryError | UnreachableError;
        let pauseMs: number | undefined;
        try {
          const answer = await attemptOnce(request, !once);
          if (answer.status < 400) return answer;
          failure = await refusalOf(answer);
          pauseMs = once ? undefined : pauseOf(failure, repeatable, attempt);
        } catch (error) {
          if (!(error instanceof UnreachableError)) throw error;
          failure = error;
          pauseMs = repeatable ? PAUSES_MS[attempt] : undefined;
        }
        // a renewal that fails ends the call: it is not repeated
        const isRefused = failure instanceof RookeryError && failure.status === 401;
        if (isRefused && !renewed && !once && (await credential.renew(shown))) {
          renewed = true;
          continue;
        }
        if (pauseMs === undefined || waitedMs + pauseMs > maxWaitMs) throw failure;
        waitedMs += pauseMs;
        onWait?.(pauseMs, failure);
        await clock.sleep(pauseMs, request.signal);
      }
    },
  };
}
