import type { Clock } from '../kernel/index.ts';

/**
 * Ends with the work, or after `ms`; answers whether the work has ended. It goes on otherwise, and its signal says that
 * nobody waits for it any more. Rejects as the work does.
 */
export async function atMost(
  clock: Clock,
  ms: number,
  work: (over: AbortSignal) => Promise<unknown>,
): Promise<boolean> {
  const over = new AbortController();
  const isLate = () => false;
  try {
    return await Promise.race([work(over.signal).then(() => true), clock.sleep(ms, over.signal).then(isLate, isLate)]);
  } finally {
    over.abort();
  }
}
