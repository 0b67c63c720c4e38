import { isUnavailable } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';

/** So long a database can be away, and what a provider has answered is still written down. */
const LONGEST_MS = 10 * 60_000;

/**
 * Repeats a write while the database is away: a provider answers once, and what it did is billed. Writes name the claim
 * of their job, so one that comes after somebody else has claimed it changes nothing.
 */
export async function whileAway<T>(clock: Clock, write: () => Promise<T>): Promise<T> {
  const end = clock.monotonic() + LONGEST_MS;
  for (let tries = 0; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isUnavailable(error) || clock.monotonic() >= end) throw error;
      await clock.sleep(Math.min(100 * 2 ** tries, 2_000));
    }
  }
}
