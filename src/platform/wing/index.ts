import type { Listener } from '../outbox/index.ts';
import type { Reader } from '../telemetry/index.ts';

/** Periodic deletion or follow-up work, run by one process at a time. */
export interface Sweep {
  /** Occurs once in the product; `/health` and `/admin/actors` show it. */
  name: string;
  everyMs: number;
  /**
   * Does a part of the work, at most `limit` rows on an index; answers how many, and is called again while that is
   * `limit` or more.
   */
  run(limit: number): Promise<number>;
}

/** A number of this process or of the database, read when the metrics are asked for. */
export interface Gauge {
  name: string;
  help: string;
  read: Reader;
  /** Name of the label where `read` answers several numbers. */
  label?: string;
}

/**
 * Starts background work that runs where actors run; disposing of it ends it. Undefined: nothing to do under this
 * configuration.
 */
export type StartWorker = () => AsyncDisposable | undefined;

interface Parts<Rooms> {
  /**
   * Rooms by name, for api, actors and later wings; `src/context.ts` merges those of all wings, so a name occurs once.
   */
  readonly rooms: Rooms;
  readonly sweeps?: readonly Sweep[];
  readonly gauges?: readonly Gauge[];
  /** Hear the facts of the outbox. */
  readonly listeners?: readonly Listener[];
  readonly workers?: readonly StartWorker[];
}

/** An open wing. Disposing of it closes its rooms in reverse. */
export type Wing<Rooms = object> = Required<Parts<Rooms>> & AsyncDisposable;

/** The wing of these parts, which owns what was opened for them. */
export function wing<Rooms>(opened: AsyncDisposableStack, parts: Parts<Rooms>): Wing<Rooms> {
  const owned = opened.move();
  return {
    sweeps: [],
    gauges: [],
    listeners: [],
    workers: [],
    ...parts,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
