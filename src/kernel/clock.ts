import { setTimeout as sleep } from 'node:timers/promises';

/** The only source of time. Tests hand in their own; "due" is decided by the database's clock all the same. */
export interface Clock {
  now(): Date;
  /** The instant `ms` milliseconds from now. */
  in(ms: number): Date;
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonic(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  in: (ms) => new Date(Date.now() + ms),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => void (await sleep(ms, undefined, signal && { signal })),
};
