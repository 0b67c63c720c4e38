import type { Fragment, Sql } from '../db/index.ts';
import type { Address, Reminder } from './address.ts';
import type { Host } from './host.ts';

export type { Address, Reminder } from './address.ts';

/** A host as it last said of itself. `actors`: active count by type. */
export interface Placement {
  incarnation: string;
  engine: string;
  address: string;
  types: readonly string[];
  actors: Readonly<Record<string, number>>;
  mailboxes: Readonly<Record<string, { queued: number; longest: number }>>;
  startedAt: Date;
  lastHeartbeat: Date;
  /** Its last heartbeat is older than the five seconds after which others take over its work. */
  silent: boolean;
}

/** A time in which no host was there: from the last heartbeat of any to the first one after it. */
export interface Outage {
  beganAt: Date;
  endedAt: Date;
}
export interface HostingOptions {
  /** Called before the first heartbeat after an outage. Where it fails there is none, and it is called again. */
  afterOutage?: ((outage: Outage) => Promise<void>) | undefined;
}

export interface ReminderCounts {
  pending: number;
  overdue: number;
}

/**
 * What `embedded/` and `dapr/` implement; both pass one conformance suite
 * (`test/integration/platform/actor-runtime.conformance.test.ts`). Errors: a business error of the actor arrives as the
 * same `AppError`; `busy` when a mailbox is full or the actor could not be reached in time; `not_found` for an unknown
 * type or method; anything else is `internal` with its cause logged.
 */
export interface Engine {
  readonly name: 'embedded' | 'dapr';
  /** No other process works on the database: what this one did not write is not there. */
  readonly isAlone: boolean;
  /** Size as JSON, in bytes, that the inputs of one batch should not exceed; undefined where nothing is copied. */
  readonly batchBytes?: number | undefined;
  /**
   * Calls a method and waits for its turn. The input of a `batched` method is a list, its answer a list of `SettledCall`. A
   * call is never aborted; one that the engine repeats carries the same `commandId`, and the host runs it once.
   */
  invoke(to: Address, method: string, input: unknown): Promise<unknown>;
  /** Registers durable one-shot reminders, overwriting those of the same address and name. */
  remind(reminders: readonly Reminder[]): Promise<void>;
  /**
   * The same inside the caller's transaction where the engine keeps reminders in this database; the answer is called
   * after the commit, and never rejects. Once in a transaction: rows are locked in the order of their addresses.
   */
  remindWithin(transaction: Sql, reminders: readonly Reminder[]): Promise<() => void>;
  /**
   * The same as a part of a statement that is a commit of its own: CTEs, each with a comma before it, that register
   * what `from (type, id, name, due_at, owner)` lists, under a new uuid. None where reminders are kept elsewhere.
   * `reminded` is called after the commit, with what was listed, and never rejects.
   */
  remindIn(sql: Sql, from: Fragment, version: Fragment): Fragment;
  reminded(reminders: readonly Reminder[], version: string): void;
  forget(to: Address, name: string): Promise<void>;
  /** Starts turns on this host; disposing it drains. One host for each engine and process. */
  host(host: Host, options?: HostingOptions): Promise<AsyncDisposable>;
  /**
   * Milliseconds since the last heartbeat of this host was sent that reached the database, also those in which the
   * machine slept; Infinity where nothing is hosted. Publishing makes no provider call when it is older than 4 s.
   */
  heartbeatAgeMs(): number;
  /**
   * Since when, by the monotonic clock, the heartbeats of this host have had no gap in which others may have taken over
   * what it holds; Infinity where nothing is hosted.
   */
  steadySince(): number;
  /** What the engine knows of waiting reminders; undefined where it cannot say. */
  reminderCounts(): Promise<ReminderCounts | undefined>;
  /** True while no actor can be reached, though this process runs; absent where that cannot be. */
  isAway?(): boolean;
  /** What the engine's own runtime says of itself, as it says it; undefined where there is none. */
  runtimeReport(): Promise<unknown>;
}

/** One result or one error of a batch, as it travels. */
export type SettledCall = { ok: true; value: unknown } | { ok: false; error: { code: string; message: string } };
