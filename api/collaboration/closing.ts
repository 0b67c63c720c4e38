import type { Clock } from '../../src/platform/kernel/index.ts';
import { CLOSE, type Connection } from './connection.ts';

/** Milliseconds between two groups that are closed: a timer for each connection would last longer than its share. */
const STEP_MS = 20;

/** Closes connections for a restart, evenly over a time, so that not all of them come to another process at once. */
export async function closeOver(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  connections: readonly Pick<Connection, 'close'>[],
  overMs: number,
): Promise<void> {
  const begunAt = clock.monotonic();
  for (let closed = 0; ;) {
    // by the time that has passed: a late timer delays nobody after it
    const due = Math.ceil((connections.length * (clock.monotonic() - begunAt + STEP_MS)) / overMs);
    for (const connection of connections.slice(closed, due))
      connection.close(CLOSE.restart, 'Restarting: connect again');
    closed = Math.max(closed, due);
    if (closed >= connections.length) return;
    await clock.sleep(STEP_MS);
  }
}
