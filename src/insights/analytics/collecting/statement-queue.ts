import type { Clock } from '../../../platform/kernel/index.ts';

/** Runs one piece of work on the database, once those before it have ended. */
export type InQueue = <T>(work: () => Promise<T>) => Promise<T>;

/** Longest rest after a piece of work. */
const MOST_REST_MS = 1_000;

/**
 * One piece of work at a time, and after each a rest as long as the work took: the numbers of a night may wait, and
 * leave the database and the processor to posts that fall due. Calls of networks go on meanwhile.
 */
export function openStatementQueue(clock: Clock): InQueue {
  let before: Promise<void> = Promise.resolve();
  return <T>(work: () => Promise<T>): Promise<T> => {
    let took = 0;
    const done = before.then(async () => {
      const began = clock.monotonic();
      try {
        return await work();
      } finally {
        took = clock.monotonic() - began;
      }
    });
    const rest = () => clock.sleep(Math.min(took, MOST_REST_MS));
    before = done.then(rest, rest);
    return done;
  };
}

/** Every piece of work at once. */
export const withoutQueue: InQueue = (work) => work();
