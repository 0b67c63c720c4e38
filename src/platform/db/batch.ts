import type { Sql } from './client.ts';

/** What a statement answers for a row that somebody else has locked: it is tried again in a moment, and holds up none of the others. */
export const LOCKED = Symbol('locked');

type Statement<Row, Result> = (sql: Sql, rows: readonly Row[]) => Promise<readonly (Result | Error | typeof LOCKED)[]>;
interface Waiting<Row, Result> {
  row: Row;
  /** How often it was found locked. */
  tries: number;
  resolve(result: Result): void;
  reject(error: unknown): void;
}
interface Queue<Row, Result> {
  waiting: Waiting<Row, Result>[];
  running: boolean;
}

export interface GroupOptions<Row> {
  /** Rows of one statement. */
  max?: number;
  /** What a row weighs, such as its length, and what the rows of one statement may weigh together; one that is heavier travels alone. */
  weigh?: (row: Row) => number;
  heaviest?: number;
  /** Whose row it is: where not all fit into the next statement, owners take turns. */
  ownerOf?: (row: Row) => string;
}

const LOCKED_MS = 5;
const LONGEST_MS = 250;

/** SQLSTATE 22 and 23: the statement was refused for what is in a row, and surely left nothing behind. */
const isDataError = (error: unknown) => error instanceof Error && 'code' in error && /^2[23]/.test(String(error.code));

/** Calls that meet while a statement is under way travel together in the next one. Inside a transaction a call only meets its own. */
export function groupCommit<Row, Result>(
  statement: Statement<Row, Result>,
  { max = 500, weigh = () => 0, heaviest = Infinity, ownerOf = () => '' }: GroupOptions<Row> = {},
) {
  const queues = new WeakMap<Sql, Queue<Row, Result>>();

  async function resolveBatch(sql: Sql, taken: readonly Waiting<Row, Result>[]): Promise<void> {
    try {
      const results = await statement(
        sql,
        taken.map(({ row }) => row),
      );
      taken.forEach((one, n) => {
        const result = results[n];
        if (result === LOCKED) setTimeout(() => enqueue(sql, one), Math.min(LOCKED_MS * 2 ** one.tries++, LONGEST_MS));
        else if (result instanceof Error) one.reject(result);
        else one.resolve(result as Result);
      });
    } catch (error) {
      const isOver = 'savepoint' in sql; // a transaction takes no statement after one that failed, and would hide why
      if (taken.length === 1 || isOver || !isDataError(error)) return taken.forEach(({ reject }) => reject(error)); // the caller reads back what became of its row
      for (const one of taken) await resolveBatch(sql, [one]); // one bad row must not fail its neighbours
    }
  }

  /** The rows of the next statement, taken out of the queue. */
  function next(queue: Queue<Row, Result>): Waiting<Row, Result>[] {
    const { waiting } = queue;
    let weight = 0;
    if (waiting.length <= max && waiting.every(({ row }) => (weight += weigh(row)) <= heaviest)) return waiting.splice(0);
    const taken: Waiting<Row, Result>[] = [];
    const left = new Set<Waiting<Row, Result>>();
    weight = 0;
    for (const one of inTurn(waiting)) {
      const more = weigh(one.row);
      if (taken.length > 0 && (taken.length >= max || weight + more > heaviest)) left.add(one);
      else {
        taken.push(one);
        weight += more;
      }
    }
    queue.waiting = waiting.filter((one) => left.has(one));
    return taken;
  }
  /** One of each owner, then the second ones, and so on. */
  function inTurn(waiting: readonly Waiting<Row, Result>[]): Waiting<Row, Result>[] {
    const counts = new Map<string, number>();
    const rounds: Waiting<Row, Result>[][] = [];
    for (const one of waiting) {
      const owner = ownerOf(one.row);
      const round = counts.get(owner) ?? 0;
      counts.set(owner, round + 1);
      (rounds[round] ??= []).push(one);
    }
    return rounds.flat();
  }

  async function workOff(sql: Sql, queue: Queue<Row, Result>): Promise<void> {
    while (queue.waiting.length > 0) await resolveBatch(sql, next(queue));
    queue.running = false;
  }

  function enqueue(sql: Sql, one: Waiting<Row, Result>): void {
    const queue = queues.get(sql) ?? { waiting: [], running: false };
    queues.set(sql, queue);
    queue.waiting.push(one);
    if (queue.running) return;
    queue.running = true;
    queueMicrotask(() => void workOff(sql, queue));
  }

  return (sql: Sql, row: Row) => new Promise<Result>((resolve, reject) => enqueue(sql, { row, tries: 0, resolve, reject }));
}
