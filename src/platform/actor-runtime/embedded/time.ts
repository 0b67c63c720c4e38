import type { Sql } from '../../db/index.ts';
import type { Clock } from '../../kernel/index.ts';

const KEPT = 4;

/**
 * The database's clock as this process can tell it without asking: never ahead of it, behind by the way of an answer at
 * most.
 */
export function databaseTime(clock: Clock) {
  const offsets: number[] = [];
  let offset = -Infinity;

  return {
    /** Asks once more. An answer is late, never early, so the largest of the last few is the best. */
    async measure(sql: Sql): Promise<void> {
      const [row] = await sql<{ ms: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`;
      offsets.push(row!.ms - clock.monotonic());
      if (offsets.length > KEPT) offsets.shift();
      offset = Math.max(...offsets);
    },
    /** Milliseconds since 1970. */
    now: (): number => offset + clock.monotonic(),
  };
}
export type DatabaseTime = ReturnType<typeof databaseTime>;
