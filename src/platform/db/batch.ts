import { openBatcher } from '../flow/index.ts';
import { type Clock, systemClock } from '../kernel/index.ts';
import type { Sql } from './client.ts';

/**
 * The answer of a statement for a row that somebody else has locked: it is tried again in a moment, and holds up none
 * of the others.
 */
export const LOCKED = Symbol('locked');

type Statement<Row, Result> = (sql: Sql, rows: readonly Row[]) => Promise<readonly (Result | Error | typeof LOCKED)[]>;
interface Waiting<Row, Result> {
  row: Row;
  /** The number of times it was found locked. */
  tries: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface GroupOptions<Row> {
  /** Rows of one statement. */
  max?: number;
  /**
   * The weight of a row, such as its length, and the greatest weight of one statement; one that is heavier travels
   * alone.
   */
  weigh?: (row: Row) => number;
  heaviest?: number;
  /** Whose row it is: where not all fit into the next statement, owners take turns. */
  ownerOf?: (row: Row) => string;
  /** Milliseconds in which a row waits for others, where nobody waits for its result; none by default. */
  gatherMs?: number;
  /** By which rows wait: to be gathered, and where they are locked. */
  clock?: Pick<Clock, 'sleep'>;
}

const LOCKED_MS = 5;
const LONGEST_MS = 250;

/** SQLSTATE 22 and 23: the statement was refused for what is in a row, and surely left nothing behind. */
const isDataError = (error: unknown) => error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));

/**
 * Calls that meet while a statement is under way travel together in the next one. Inside a transaction a call only
 * meets its own.
 */
export function groupCommit<Row, Result>(
  statement: Statement<Row, Result>,
  {
    max = 500,
    weigh = () => 0,
    heaviest = Infinity,
    ownerOf = () => '',
    gatherMs = 0,
    clock = systemClock,
  }: GroupOptions<Row> = {},
) {
  const batchers = new WeakMap<Sql, ReturnType<typeof batcherOf>>();

  async function resolveBatch(sql: Sql, taken: readonly Waiting<Row, Result>[]): Promise<void> {
    try {
      const results = await statement(
        sql,
        taken.map(({ row }) => row),
      );
      taken.forEach((one, n) => {
        const result = results[n];
        if (result === LOCKED)
          void clock.sleep(Math.min(LOCKED_MS * 2 ** one.tries++, LONGEST_MS)).then(() => enqueue(sql, one));
        else if (result instanceof Error) one.reject(result);
        else one.resolve(result as Result);
      });
    } catch (error) {
      const isOver = 'savepoint' in sql; // a transaction takes no statement after one that failed, and would hide why
      // the caller reads back what became of its row
      if (taken.length === 1 || isOver || !isDataError(error)) return taken.forEach(({ reject }) => reject(error));
      for (const one of taken) await resolveBatch(sql, [one]); // one bad row must not fail its neighbours
    }
  }

  function batcherOf(sql: Sql): (one: Waiting<Row, Result>, owner?: string) => void {
    const known = batchers.get(sql);
    if (known) return known;
    const batcher = openBatcher<Waiting<Row, Result>>({
      send: (taken) => resolveBatch(sql, taken),
      max,
      heaviest,
      weigh: ({ row }) => weigh(row),
      ...(gatherMs > 0 && { soon: (make: () => void) => void clock.sleep(gatherMs).then(make) }),
    });
    batchers.set(sql, batcher);
    return batcher;
  }
  const enqueue = (sql: Sql, one: Waiting<Row, Result>) => batcherOf(sql)(one, ownerOf(one.row));

  return (sql: Sql, row: Row) =>
    new Promise<Result>((resolve, reject) => enqueue(sql, { row, tries: 0, resolve, reject }));
}
