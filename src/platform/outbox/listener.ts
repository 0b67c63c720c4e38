import type { Fragment, Sql } from '../db/index.ts';
import type { Payload, Topic } from './facts.ts';

/** A fact as it is heard. `at`: when it was announced. */
export type Fact<T extends Topic = Topic> = {
  [Name in T]: { id: string; orgId: string; topic: Name; entityId: string; payload: Payload<Name>; at: Date };
}[T];

/**
 * Sends `{ keys }` to a topic of the bus when the listener's transaction is committed. Nothing may depend on its
 * arrival.
 */
export type Wake = (busTopic: string, keys: readonly string[]) => void;

/** Has something done when the listener's transaction is committed, of which the same holds. */
export type AfterCommit = (act: () => Promise<unknown>) => void;

export interface Listener<T extends Topic = Topic> {
  /** Names its cursor and its lease, so it is never changed. */
  name: string;
  topics: readonly T[];
  /** How often it looks for facts; default 250 ms. */
  lookMs?: number;
  /** A condition on a fact `o` of these topics: others are passed over and cost nothing but the look. */
  where?: (sql: Sql) => Fragment;
  /**
   * Writes what is to come of the facts, in the transaction that moves the cursor: what is committed is heard once, and
   * in order. What it throws sets a fact aside, after each fact was tried alone.
   */
  hear(sql: Sql, facts: readonly Fact<T>[], wake: Wake, afterCommit: AfterCommit): Promise<unknown>;
  /**
   * Tells others of the facts, outside of the database and before that transaction begins, so that nobody waits for
   * them in it: at least once. What it throws sets no fact aside; all of it is told again. `ending`: this process does
   * not wait for it any longer.
   */
  tell?(facts: readonly Fact<T>[], ending?: AbortSignal): Promise<unknown>;
  /** Of a listener that a setting turns on. While it is off it has no cursor, as facts are kept for the slowest one. */
  isOff?: boolean;
}
/** Declares a listener; `facts` are those of its topics. */
export const listener = <T extends Topic>(declared: Listener<T>): Listener => declared;
