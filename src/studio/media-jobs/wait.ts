import type { Clock } from '../../platform/kernel/index.ts';

/** Those who wait in this process for the end of a job. */
export interface Waiters {
  /** Ends when the job has ended in this process, or after `ms`. */
  until(jobId: string, ms: number, signal?: AbortSignal): Promise<void>;
  ended(jobId: string): void;
}

export function openWaiters(clock: Clock): Waiters {
  const waiting = new Map<string, Set<AbortController>>();
  return {
    async until(jobId, ms, signal) {
      const rest = new AbortController();
      const mine = waiting.get(jobId) ?? new Set();
      waiting.set(jobId, mine.add(rest));
      try {
        await clock.sleep(ms, signal ? AbortSignal.any([rest.signal, signal]) : rest.signal).catch(() => undefined);
      } finally {
        mine.delete(rest);
        if (mine.size === 0) waiting.delete(jobId);
      }
    },
    ended(jobId) {
      for (const rest of waiting.get(jobId) ?? []) rest.abort();
    },
  };
}
