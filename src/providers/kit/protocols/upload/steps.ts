import { z } from 'zod';
import { type Clock, ProviderError } from '../../../../platform/kernel/index.ts';
import { refused } from '../../declare/fallback.ts';
import type { Body, LentMemory, RangedFile } from '../../declare/media.ts';
import type { Call, Http } from '../../wire/http.ts';

/** The tools of an upload. */
export interface UploadLine {
  http: Http;
  clock: Clock;
  /** Milliseconds that one exchange may take, without the time for its bytes. */
  timeoutMs: number;
}
/** Bytes of a file: from `from` up to, but without, `to`. */
export interface Range {
  from: number;
  to: number;
  /** Of the whole file. */
  size: number;
}
/** The durable state of an upload between its steps, as plain JSON. */
export interface Kept {
  /** The state that an earlier call saved; anything else begins anew. */
  saved: unknown;
  /** Is durable when it ends. */
  save: (handle: unknown) => Promise<void>;
}

/** One exchange of an upload. */
export interface Ask extends Call {
  method: 'get' | 'put' | 'post';
  path: string;
  /** Statuses that say that the server no longer knows this upload. Default: 404 and 410. */
  gone?: readonly number[];
}

const GONE = [404, 410];

/**
 * The bytes of a range as a body; they are read while they are sent. `memory`: of the ranges of one upload, each sent
 * when the one before has its answer. Memory of its own for each makes the process collect garbage every few ranges.
 */
export const bodyOfRange = (file: RangedFile, { from, to }: Pick<Range, 'from' | 'to'>, memory?: LentMemory): Body => ({
  contentType: file.contentType,
  size: to - from,
  open: (how) => file.read(from, to, how?.lent && memory ? { lent: memory } : how),
});

/** Sends one exchange; undefined where the server no longer knows the upload. */
export async function askUpload<S extends z.ZodType>(
  { http, timeoutMs }: UploadLine,
  { method, path, gone = GONE, accepts = [], ...call }: Ask,
  reply: S,
): Promise<z.output<S> | undefined> {
  const lost = z.object({ status: z.literal([...gone]) }).transform(() => undefined);
  return http[method](path, z.union([lost, reply]), {
    timeoutMs,
    ...call,
    accepts: [...accepts, ...gone],
    replyStatus: true,
  });
}

/** Waits before an upload goes on after a fault of the line or the server; then the failure is told. */
const WAITS_MS = [250, 1_000, 4_000];

/** Counts the faults since the last progress. */
export function countFaults(clock: Clock) {
  let faults = 0;
  return {
    progress: () => void (faults = 0),
    /** Waits after a fault that a repeat may heal; throws any other, and one too many. */
    async wait(error: unknown): Promise<void> {
      const wait = WAITS_MS[faults];
      if (!(error instanceof ProviderError) || error.failure !== 'unavailable' || wait === undefined) throw error;
      faults += 1;
      await clock.sleep(wait);
    },
  };
}

/** An upload that its server forgot is begun anew, this many times in all. */
const MOST_BEGINS = 3;
export function refuseBegin(begun: number): void {
  if (begun >= MOST_BEGINS) throw refused('unavailable', 'The server lost the upload again and again');
}
