import type { UploadLimits } from './contract.ts';

/** A longer piece is handed on in parts, so that a slow receiver is seen to take them. */
const PART_BYTES = 256 * 1024;
/** What a system keeps of a body for a receiver that has not taken it yet. */
const BUFFERED_BYTES = 4 * 1024 * 1024;
/** Longer timers fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** The end of a request by the clock, which can be moved until it is reached or taken away. */
export interface Deadline {
  /** Sets it to so many milliseconds from now. */
  moveTo(ms: number): void;
  clear(): void;
}

/** Opens a deadline. By hand: `AbortSignal.timeout` lives on, and fires, long after its request has ended. */
export function openDeadline(ms: number, expire: () => void): Deadline {
  let timer: NodeJS.Timeout | undefined;
  const start = (from: number) =>
    void (timer = setTimeout(
      () => {
        timer = undefined;
        expire();
      },
      Math.min(from, LONGEST_MS),
    ).unref());
  start(ms);
  return {
    moveTo(next) {
      if (!timer) return;
      clearTimeout(timer);
      start(next);
    },
    clear() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/**
 * A stream while it is sent, with the deadline of its request, which began at `since`: that of the whole, and while a
 * piece waits to be taken the silence that its receiver is allowed. A source that is slow is bounded by the whole alone.
 */
export async function* sentWithin(
  { from, bytes }: { from: AsyncIterable<Uint8Array>; bytes: number },
  { bytesPerMs, silenceMs }: UploadLimits,
  { deadline, timeoutMs, since }: { deadline: Deadline; timeoutMs: number; since: number },
): AsyncGenerator<Uint8Array> {
  const end = since + timeoutMs + bytes / bytesPerMs;
  const left = (most = Infinity) => Math.max(0, Math.min(most, end - performance.now()));
  deadline.moveTo(left());
  for await (const piece of from) {
    for (let at = 0; at < piece.length; at += PART_BYTES) {
      deadline.moveTo(left(silenceMs));
      yield piece.length <= PART_BYTES ? piece : piece.subarray(at, at + PART_BYTES);
    }
    deadline.moveTo(left());
  }
  deadline.moveTo(left(timeoutMs + Math.min(bytes, BUFFERED_BYTES) / bytesPerMs));
}
