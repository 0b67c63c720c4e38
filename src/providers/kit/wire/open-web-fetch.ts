import { AppError, ProviderError } from '../../../platform/kernel/index.ts';
import {
  type Outbound,
  OutboundError,
  type OutboundRequest,
  type OutboundStream,
} from '../../../platform/outbound/index.ts';
import type { Manifest } from '../declare/adapter.ts';
import { type Connection, USER_AGENT } from './connection.ts';
import { PLACEHOLDER_KEY, type WebFetch, type WebFetchLimits } from './web-fetch.ts';

const WITHOUT_BODY = new Set([204, 205, 304]);
/** Bytes of a refusal that are read. */
const REFUSAL_BYTES = 64 * 1024;
/** Bytes of a body whose length nobody tells, which is held in memory. */
const UNTOLD_BYTES = 64 * 1024 * 1024;

interface Options {
  connection: Connection;
  outbound: Pick<Outbound, 'stream'>;
  manifest: Pick<Manifest, 'errorInside'>;
}

/** Opens the tool `webFetch`. */
export const openWebFetch =
  ({ connection, outbound, manifest }: Options): WebFetch =>
  (limits) =>
  async (input, init) => {
    const request = new Request(input, { ...init, ...(init?.body instanceof ReadableStream && { duplex: 'half' }) });
    const { signal } = request;
    const deadlines = openDeadlines(signal);
    const failed = (error: unknown) => failureOf(error, { connection, limits, signal });
    let answer: OutboundStream | undefined;
    try {
      const { url, headers, body } = await written(request, init?.body, connection);
      answer = await deadlines.within(
        limits.headMs,
        outbound.stream(url, {
          method: request.method,
          headers,
          ...(body !== undefined && { body }),
          timeoutMs: limits.wholeMs,
          maxBytes: limits.bytes,
          redirects: 'none',
          signal: deadlines.signal,
        }),
      );
      const refusal = await refusalOf(answer, { manifest, connection, deadlines, limits });
      if (refusal instanceof ProviderError) throw refusal;
      const { status, headers: answered } = answer;
      const kept = new Headers(answered);
      for (const name of ['content-encoding', 'content-length']) kept.delete(name); // it is unpacked
      const content = refusal ?? streamed(answer, deadlines, limits.silenceMs, failed);
      return new Response(WITHOUT_BODY.has(status) ? null : content, { status, headers: kept });
    } catch (error) {
      answer?.cancel();
      throw failed(error);
    }
  };

function failureOf(
  error: unknown,
  { connection, limits, signal }: { connection: Connection; limits: WebFetchLimits; signal: AbortSignal },
): unknown {
  if (error instanceof ProviderError) return error;
  if (signal.aborted) return new AppError('unavailable', 'The call was given up by its caller');
  return connection.unanswered(error, limits.creates ?? false);
}

/**
 * Reads what has to be known before an answer is given on: the text of a refusal, and JSON in which a failure may stand.
 * Answers that failure, or the bytes that were read of a success.
 */
async function refusalOf(
  answer: OutboundStream,
  {
    manifest,
    connection,
    deadlines,
    limits,
  }: Pick<Options, 'manifest' | 'connection'> & {
    deadlines: Deadlines;
    limits: WebFetchLimits;
  },
): Promise<ProviderError | Uint8Array<ArrayBuffer> | undefined> {
  const isSuccess = answer.status >= 200 && answer.status < 300;
  const isJson = (answer.headers.get('content-type') ?? '').includes('json');
  if (isSuccess && !(manifest.errorInside && isJson)) return undefined;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const each = answer.body[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await deadlines.within(limits.silenceMs, each.next());
    if (done) break;
    pieces.push(value);
    bytes += value.length;
    if (!isSuccess && bytes >= REFUSAL_BYTES) {
      answer.cancel();
      break;
    }
  }
  const body = Buffer.concat(pieces);
  const refusal = connection.refusal(
    { status: answer.status, headers: answer.headers, text: () => body.toString('utf8') },
    limits,
  );
  return refusal ?? new Uint8Array(body);
}

/** The body of an answer; whoever reads it is told how it ends. */
function streamed(
  answer: OutboundStream,
  deadlines: Deadlines,
  silenceMs: number,
  failed: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const pieces = answer.body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await deadlines.within(silenceMs, pieces.next());
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          answer.cancel();
          controller.error(failed(error));
        }
      },
      cancel: () => answer.cancel(),
    },
    { highWaterMark: 0 },
  );
}

interface Deadlines {
  /** Aborted by the caller, or when a limit has passed. */
  signal: AbortSignal;
  within<T>(ms: number, work: Promise<T>): Promise<T>;
}
function openDeadlines(given: AbortSignal): Deadlines {
  const passed = new AbortController();
  return {
    signal: AbortSignal.any([given, passed.signal]),
    async within(ms, work) {
      const timer = setTimeout(() => passed.abort(), ms).unref();
      try {
        return await work;
      } catch (error) {
        const sent = !(error instanceof OutboundError) || error.sent;
        throw passed.signal.aborted ? new OutboundError('timeout', 'timeout', { cause: error, sent }) : error;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** The request as the guard sends it, with the credentials of the line in the place of those of the library. */
async function written(request: Request, given: RequestInit['body'], connection: Connection) {
  const url = new URL(request.url);
  const own: Record<string, string> = {};
  connection.withCredentials({ url, headers: own, call: {} });
  const ofLibrary = [...request.headers].filter(([, value]) => !value.includes(PLACEHOLDER_KEY));
  const headers: Record<string, string> = { ...Object.fromEntries(ofLibrary), 'user-agent': USER_AGENT };
  for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = value;
  return { url: url.href, headers, body: await bodyOf(request, given) };
}

async function bodyOf(request: Request, given: RequestInit['body']): Promise<OutboundRequest['body']> {
  if (typeof given === 'string') return given;
  if (given instanceof Uint8Array) return given;
  if (!request.body) return undefined;
  const told = given instanceof Blob ? given.size : Number(request.headers.get('content-length') ?? Number.NaN);
  if (!Number.isNaN(told)) return { from: request.body as AsyncIterable<Uint8Array>, bytes: told };
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of request.body as AsyncIterable<Uint8Array>) {
    bytes += piece.length;
    if (bytes > UNTOLD_BYTES) throw new OutboundError('invalid', `The body is longer than ${UNTOLD_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
