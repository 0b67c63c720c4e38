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
  /** Between two looks when less was due than there was room for; asked after each, where that changes. */
  restMs: number | (() => number);
  /**
   * Rows that are claimed before there is a place for them, so that no place waits for a claim; none by default. Those
   * that found no place within `forMs`, and those that are left at the end, are not worked on: `release`, which never
   * rejects, gives them up.
   */
  ahead?: { rows: number; forMs: number; release(rows: readonly Row[]): Promise<void> };
  /** Work that threw: its row comes back when its lease is over. */
  onWorkError(error: unknown, row: Row): void;
  onClaimError(error: unknown): void;
}

const AFTER_FAILURE_MS = 5_000;
const FULL_MS = 60_000;
const DRAIN_MS = 8_000;

/**
 * Works on rows that are due until it is disposed of: then nothing new is claimed, what has no place is released, and
 * what is under way has 8 s to end; the rest is taken by another process, after its lease. Any number of processes may,
 * as the claim gives each row to one. `wake`: something became due, and nobody has to wait for the rest to end.
 */
export function startWorker<Row>({
  clock,
  concurrency,
  claim,
  work,
  restMs,
  ahead,
  onWorkError,
  onClaimError,
}: WorkerOptions<Row>): Pick<Loop, 'wake'> & AsyncDisposable {
  const underWay = new Set<Promise<void>>();
  /** Claimed, without a place; the oldest first. */
  const waiting: { row: Row; until: number }[] = [];
  const { rows: most, forMs } = ahead ?? { rows: 0, forMs: Infinity };
  const least = Math.max(1, most - concurrency); // fewer are not worth a claim while as many wait as have places
  let full = false;
  const room = () => concurrency + most - underWay.size - waiting.length;

  function start(row: Row): void {
    const working = work(row)
      .catch((error: unknown) => onWorkError(error, row))
      .finally(() => {
        underWay.delete(working);
        startWaiting();
        if (full && room() >= least) loop.wake();
      });
    underWay.add(working);
  }
  function startWaiting(): void {
    const now = clock.monotonic();
    const good = waiting.findIndex(({ until }) => until > now);
    const late = waiting.splice(0, good < 0 ? waiting.length : good);
    if (late.length > 0) void ahead?.release(late.map(({ row }) => row));
    for (const { row } of waiting.splice(0, concurrency - underWay.size)) start(row);
  }

  const loop = startLoop({
    clock,
    restMs: AFTER_FAILURE_MS,
    async round() {
      startWaiting();
      const free = room();
      full = free < least;
      if (full) return Math.min(FULL_MS, forMs);
      const until = clock.monotonic() + forMs;
      const rows = await claim(free);
      waiting.push(...rows.map((row) => ({ row, until })));
      startWaiting();
      if (rows.length === free) return 0;
      return typeof restMs === 'number' ? restMs : restMs();
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
      const left = waiting.splice(0).map(({ row }) => row);
      await atMost(clock, DRAIN_MS, () => Promise.all([...underWay, left.length > 0 && ahead?.release(left)]));
    },
  };
}
