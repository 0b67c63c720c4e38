import type { Clock } from '../kernel/index.ts';

/** Those in this process who wait for something to be written of an entity. */
export interface Waiters {
  /** Ends when this process has written it, after `ms`, or with the signal. */
  until(id: string, ms: number, signal?: AbortSignal): Promise<void>;
  written(id: string): void;
}

export function openWaiters(clock: Clock): Waiters {
  const waiting = new Map<string, Set<AbortController>>();
  return {
    async until(id, ms, signal) {
      const rest = new AbortController();
      const mine = waiting.get(id) ?? new Set();
      waiting.set(id, mine.add(rest));
      try {
        await clock.sleep(ms, signal ? AbortSignal.any([rest.signal, signal]) : rest.signal).catch(() => undefined);
      } finally {
        mine.delete(rest);
        if (mine.size === 0) waiting.delete(id);
      }
    },
    written(id) {
      for (const rest of waiting.get(id) ?? []) rest.abort();
    },
  };
}
