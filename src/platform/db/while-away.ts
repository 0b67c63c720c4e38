import type { Clock } from '../kernel/index.ts';
import { isUnavailable } from './unavailable.ts';

/**
 * Repeats a write while the database is away, for `mostMs` at most: of what is known here alone, and would be lost. A
 * try whose answer was lost may have held, so the write says what it changes.
 */
export async function whileAway<T>(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  mostMs: number,
  write: () => Promise<T>,
): Promise<T> {
  const end = clock.monotonic() + mostMs;
  for (let tries = 0; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isUnavailable(error) || clock.monotonic() >= end) throw error;
      await clock.sleep(Math.min(100 * 2 ** tries, 2_000));
    }
  }
}
