import type { Database } from '../../db/index.ts';
import type { FairQueue, Loop } from '../../flow/index.ts';
import type { Clock } from '../../kernel/index.ts';
import { reminderKey } from '../address.ts';
import type { Host, RuntimeLog } from '../host.ts';
import type { Heap } from './heap.ts';
import type { Row } from './store.ts';
import type { DatabaseTime } from './time.ts';

export interface EmbeddedRemindersOptions {
  sql: Database;
  clock: Clock;
  time: DatabaseTime;
  log: RuntimeLog;
  /** Until a failed default reminder comes again. */
  retryMs: number;
  /** Between two looks at the table, and how far each looks ahead. */
  sweepMs: number;
  nearMs: number;
}

/** A reminder in memory. */
export interface Near extends Row {
  key: string;
  /** When it is to fire, by the database's clock: its due time, later after a failure. */
  at: number;
  /** In the heap; at work; done and waiting for its row to be deleted. */
  place: 'heap' | 'work' | 'done';
  dropped: boolean;
}

/** What one engine knows of its reminders. */
export interface NearReminders extends EmbeddedRemindersOptions {
  readonly heap: Heap<Near>;
  readonly near: Map<string, Near>;
  /** Default reminders whose time has come. */
  readonly ready: FairQueue<Near>;
  /** Nudges whose time has come. */
  readonly offered: FairQueue<Near>;
  readonly finishing: Set<Promise<void>>;
  readonly ended: AbortController;
  /** Fires what is due; what the end of the wait calls. */
  fire(): void;
  host: Host | undefined;
  paused: boolean;
  working: number;
  offering: boolean;
  /** Ends the wait for the first of them. */
  timer: AbortController | undefined;
  timerAt: number;
  /** The looks at the table. */
  loop: Loop | undefined;
  unreadable: boolean;
  /** All reminders due until then are in memory, or on their way into it. */
  knownUntil: number;
  /** What changed in memory since the look at the table began that is under way: that look is older. */
  touched: Set<string> | undefined;
}

/** After its commit. Two that overlapped were committed in an order that only the table knows. */
export function remember(state: NearReminders, row: Row): void {
  const known = state.near.get(reminderKey(row.type, row.id, row.name));
  if (known && known.version > row.version) return state.loop?.wake();
  keepNear(state, { ...row, data: row.data === undefined ? undefined : JSON.parse(JSON.stringify(row.data)) });
}

/** Takes a row of the table into memory, in the place of what was there under its key. */
export function keepNear(state: NearReminders, row: Row): void {
  const key = reminderKey(row.type, row.id, row.name);
  release(state, key);
  if (row.dueMs > state.knownUntil) return;
  const one: Near = { ...row, key, at: row.dueMs, place: 'heap', dropped: false };
  state.near.set(key, one);
  state.heap.push(one);
  arm(state);
}

/** Forgets what memory holds under a key. A callback that runs goes on, and finds at its end that it was replaced. */
export function release({ touched, near, heap }: NearReminders, key: string): void {
  touched?.add(key);
  const known = near.get(key);
  if (!known) return;
  near.delete(key);
  if (known.place === 'heap') heap.drop(known);
  else known.dropped = true;
}

/** Puts one that was not done back, to fire `ms` from now. */
export function again(state: NearReminders, one: Near, ms: number): void {
  if (one.dropped) return;
  one.at = state.time.now() + ms;
  one.place = 'heap';
  state.heap.push(one);
  arm(state);
}

/** Sets the timer to the first of them. */
export function arm(state: NearReminders): void {
  const first = state.heap.peek();
  if (!state.host || state.paused || !first || (state.timer && state.timerAt <= first.at)) return;
  state.timer?.abort();
  const timer = (state.timer = new AbortController());
  state.timerAt = first.at;
  void state.clock.sleep(Math.max(0, Math.ceil(first.at - state.time.now())), timer.signal).then(state.fire, () => {});
}

export function disarm(state: NearReminders): void {
  state.timer?.abort();
  state.timer = undefined;
}
