import type { Clock } from '../kernel/index.ts';
import { atMost } from './deadline.ts';
import { type Loop, startLoop } from './loop.ts';

export interface WorkerOptions<Row> {
  clock: Clock;
  /** Most rows under way at once. */
  concurrency: number;
  /** Takes at most `limit` rows that are due, for a lease. */
  claim(limit: number): Promise<readonly Row[]>;
  work(row: Row): Promise<void>;
  /** Between two looks when less was due than there was room for. */
  restMs: number;
  /** Work that threw: its row comes back when its lease is over. */
  onWorkError(error: unknown, row: Row): void;
  onClaimError(error: unknown): void;
}

const AFTER_FAILURE_MS = 5_000;
const FULL_MS = 60_000;
const DRAIN_MS = 8_000;

/**
 * Works on rows that are due until it is disposed of: then nothing new is claimed, and what is under way has 8 s to
 * end; the rest is taken by another process, after its lease. Any number of processes may, as the claim gives each row
 * to one. `wake`: something became due, and nobody has to wait for the rest to end.
 */
export function startWorker<Row>({
  clock,
  concurrency,
  claim,
  work,
  restMs,
  onWorkError,
  onClaimError,
}: WorkerOptions<Row>): Pick<Loop, 'wake'> & AsyncDisposable {
  const underWay = new Set<Promise<void>>();
  let full = false;

  function start(row: Row): void {
    const working = work(row)
      .catch((error: unknown) => onWorkError(error, row))
      .finally(() => {
        underWay.delete(working);
        if (full) loop.wake();
      });
    underWay.add(working);
  }

  const loop = startLoop({
    clock,
    restMs,
    async round() {
      const free = concurrency - underWay.size;
      full = free === 0;
      if (full) return FULL_MS;
      const rows = await claim(free);
      rows.forEach(start);
      return rows.length < free ? restMs : 0;
    },
    onError(error) {
      onClaimError(error);
      return AFTER_FAILURE_MS;
    },
  });

  return {
    wake: () => loop.wake(),
    async [Symbol.asyncDispose]() {
      await loop[Symbol.asyncDispose]();
      await atMost(clock, DRAIN_MS, () => Promise.all(underWay));
    },
  };
}
