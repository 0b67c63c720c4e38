import type { Bus } from '../actor-runtime/index.ts';
import type { Database } from '../db/index.ts';
import type { Loop } from '../flow/index.ts';
import type { Clock } from '../kernel/index.ts';
import type { Listener } from './listener.ts';
import type { ListenerLog } from './hear.ts';
import { startReader } from './reader.ts';
import { declareCursors } from './store.ts';

export interface ListenersOptions {
  sql: Database;
  clock: Clock;
  bus: Pick<Bus, 'publish'>;
  listeners: readonly Listener[];
  /** This start of this process. */
  holder: string;
  log: ListenerLog;
  /** A process that dies is followed after this long. */
  leaseSeconds?: number;
  /** How often every listener looks for facts, in the place of its own. */
  lookMs?: number;
  /**
   * Set where no other process writes facts: how often it looks while this one writes none, the first of which wakes
   * it.
   */
  quietMs?: number | undefined;
}

/**
 * Starts every listener: each in a loop of its own, one process at a time. It finds facts by looking: to be told of
 * each commit of other processes would cost a message for each, which a bus gives to any of them and not to the one
 * that listens.
 */
export function startListeners({ listeners: all, ...options }: ListenersOptions): Pick<Loop, 'wake'> & AsyncDisposable {
  const { sql } = options;
  const listeners = all.filter(({ isOff }) => !isOff);
  const off = all.filter(({ isOff }) => isOff).map(({ name }) => name);
  let registered: Promise<unknown> | undefined;
  /** All in one statement: what every cursor is past is deleted, so a cursor that comes later would miss it. */
  const register = () =>
    (registered ??= declareCursors(
      sql,
      listeners.map(({ name }) => name),
      off,
    ).catch((error: unknown) => {
      registered = undefined;
      throw error;
    }));
  const registerAgain = () => {
    registered = undefined;
    return register();
  };
  const ending = new AbortController();
  const { signal } = ending;
  const loops = listeners.map((one) => startReader(one, { ...options, register, registerAgain, ending: signal }));
  return {
    wake: () => loops.forEach((loop) => loop.wake()),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await Promise.all(loops.map((loop) => loop[Symbol.asyncDispose]()));
    },
  };
}
