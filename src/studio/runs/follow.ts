import type { Database } from '../../platform/db/index.ts';
import type { Waiters } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { RunEvent, RunRef } from './contract.ts';
import { selectEvents } from './events-store.ts';

/** What other processes write is seen so late. */
const LOOK_MS = 1_000;
const ALIVE_MS = 15_000;
const RIGHTS_MS = 60_000;
const MOST_AT_ONCE = 200;

/**
 * Follows what happens in a run, after the event of this number; ends with the signal, or when `mayRead`, which is
 * asked every minute, says no.
 */
export async function* followRun(
  { sql, clock, readers }: { sql: Database; clock: Clock; readers: Waiters },
  key: RunRef,
  { after, ends, mayRead }: { after: number; ends: AbortSignal; mayRead(): Promise<boolean> },
): AsyncGenerator<RunEvent> {
  let last = after;
  let saidAt = clock.monotonic();
  let judgedAt = saidAt;
  while (!ends.aborted) {
    const looked = new AbortController();
    const news = readers.until(key.id, LOOK_MS, AbortSignal.any([ends, looked.signal])); // before the look
    const found = await selectEvents(sql, key, last, MOST_AT_ONCE);
    for (const event of found) {
      last = event.n;
      yield event;
    }
    const now = clock.monotonic();
    if (found.length > 0) saidAt = now;
    else if (now - saidAt >= ALIVE_MS) {
      saidAt = now;
      yield 'alive';
    }
    if (now - judgedAt >= RIGHTS_MS) {
      judgedAt = now;
      if (!(await mayRead())) looked.abort();
    }
    if (looked.signal.aborted) return;
    if (found.length < MOST_AT_ONCE) await news;
    else looked.abort();
  }
}
