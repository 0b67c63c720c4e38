import type { Clock } from '../kernel/index.ts';

/** Ends with the work, or after `ms`: what is said to a database at the end must not hold up a process when the database is away. */
export async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  await Promise.race([work, clock.sleep(ms, over.signal).catch(() => {})]);
  over.abort();
}
