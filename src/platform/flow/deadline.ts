import type { Clock } from '../kernel/index.ts';

/** Ends with the work, or after `ms`: the work goes on, and its signal says that nobody waits for it any more. Rejects as the work does. */
export async function atMost(clock: Clock, ms: number, work: (over: AbortSignal) => Promise<unknown>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work(over.signal), clock.sleep(ms, over.signal).catch(() => undefined)]);
  } finally {
    over.abort();
  }
}
