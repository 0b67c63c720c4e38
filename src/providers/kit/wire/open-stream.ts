import { type Outbound, OutboundError } from '../../../platform/outbound/index.ts';
import type { Stream } from './stream.ts';
import { DOWNLOAD, type DownloadLimits, UPLOAD, wholeMs } from './upload-limits.ts';

const WHOLE_MS = 86_400_000;

/** Opens the tool `stream`. `headMs`: time allowed for the head of an answer, beside the time for the upload. */
export const openStream =
  (
    outbound: Pick<Outbound, 'stream'>,
    headMs: number,
    { bytesPerMs, silenceMs, graceMs }: DownloadLimits = DOWNLOAD,
  ): Stream =>
  async (url, request = {}) => {
    const { body } = request;
    const sent = body === undefined ? 0 : 'from' in body ? body.bytes : body.length;
    const stalled = new AbortController();
    async function within<T>(ms: number, work: Promise<T>): Promise<T> {
      const timer = setTimeout(() => stalled.abort(), ms);
      try {
        return await work;
      } catch (error) {
        throw stalled.signal.aborted ? new OutboundError('timeout', 'timeout', { cause: error, sent: true }) : error;
      } finally {
        clearTimeout(timer);
      }
    }

    const asked = outbound.stream(url, {
      ...request,
      signal: stalled.signal,
      timeoutMs: WHOLE_MS,
      upload: UPLOAD,
      maxBytes: Infinity,
      redirects: 'none',
    });
    const answer = await within(wholeMs(headMs, sent), asked);
    let leftMs = graceMs;
    /** A sender that never falls silent, and sends next to nothing, would hold its connection for a day. */
    async function inTime(next: () => Promise<IteratorResult<Uint8Array>>): Promise<IteratorResult<Uint8Array>> {
      const since = performance.now();
      const piece = await within(Math.min(silenceMs, leftMs), next());
      leftMs += (piece.value?.length ?? 0) / bytesPerMs - (performance.now() - since);
      return piece;
    }
    return {
      status: answer.status,
      headers: answer.headers,
      cancel: answer.cancel,
      body: {
        [Symbol.asyncIterator]() {
          const pieces = answer.body[Symbol.asyncIterator]();
          return {
            next: () => inTime(() => pieces.next()),
            async return() {
              answer.cancel(); // also when nothing has been read yet
              await pieces.return?.();
              return { done: true, value: undefined };
            },
          };
        },
      },
    };
  };
