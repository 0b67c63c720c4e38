import type { Fragment, Sql } from '../../db/index.ts';
import { atMost, FairQueue, startLoop } from '../../flow/index.ts';
import { invalidField, newId } from '../../kernel/index.ts';
import { type Address, checkReminder, type Reminder, reminderKey } from '../address.ts';
import type { Fired, Host } from '../host.ts';
import { fireDue } from './firing.ts';
import { Heap } from './heap.ts';
import { arm, disarm, keepNear, type NearReminders, release, remember, type EmbeddedRemindersOptions } from './near.ts';
import {
  type ReminderChange,
  changeReminders,
  nearReminders,
  putReminders,
  type Row,
  upsertReminders,
} from './store.ts';

/** Rows that one look at the table takes into memory. */
const NEAR_ROWS = 50_000;
const CLOSE_MS = 1_500;
const AFTER_FAILURE_MS = 1_000;

const rowOf = ({ type, id, name, due, owner, data }: Reminder): Row => {
  checkReminder({ type, id }, name);
  if (Number.isNaN(due.getTime())) throw invalidField('due', 'must be a date');
  return { type, id, name, dueMs: due.getTime(), owner, data, version: newId() };
};

/**
 * The reminders of the embedded engine: rows in `actor_reminders`, the near ones in memory too, one timer set to the
 * first of them.
 */
export function openReminders(options: EmbeddedRemindersOptions) {
  const { sql, clock, time, sweepMs } = options;
  const state: NearReminders = {
    ...options,
    heap: new Heap(),
    near: new Map(),
    ready: new FairQueue(),
    offered: new FairQueue(),
    finishing: new Set(),
    ended: new AbortController(),
    fire: () => fireDue(state),
    host: undefined,
    paused: false,
    working: 0,
    offering: false,
    timer: undefined,
    timerAt: Infinity,
    loop: undefined,
    unreadable: false,
    knownUntil: -Infinity,
    touched: undefined,
  };
  /** Nobody knows whether the statement took effect: the table does. */
  const unsure = (error: unknown): never => {
    state.loop?.wake();
    throw error;
  };

  return {
    /** Reads what is near; the first look must succeed. */
    async open(): Promise<void> {
      for (let n = 0; n < 3; n++) await time.measure(sql);
      await nearReminders(sql, 0, 1); // a database that cannot be read is the caller's to hear of
      const onError = (error: unknown) => afterFailure(state, error);
      state.loop = startLoop({
        clock,
        firstRestMs: await look(state).catch(onError),
        restMs: sweepMs,
        round: () => look(state),
        onError,
      });
    },
    async remind(reminders: readonly Reminder[]): Promise<void> {
      const rows = reminders.map(rowOf);
      await Promise.all(
        rows.map(async (row) => {
          await changeReminders(sql, { kind: 'set', row }).catch(unsure);
          remember(state, row);
        }),
      );
    },
    async remindWithin(transaction: Sql, reminders: readonly Reminder[]): Promise<() => void> {
      const rows = [
        ...new Map(
          reminders.map((reminder) => [reminderKey(reminder.type, reminder.id, reminder.name), rowOf(reminder)]),
        ).values(),
      ];
      await putReminders(transaction, rows);
      return () => {
        for (const row of rows) remember(state, row);
      };
    },
    remindIn: (caller: Sql, from: Fragment, version: Fragment): Fragment =>
      caller`, reminders_set as (${upsertReminders(
        caller,
        caller`(select *, null::json as data, ${version}::uuid as version from ${from}) given`,
      )})`,
    reminded(reminders: readonly Reminder[], version: string): void {
      for (const reminder of reminders) remember(state, { ...rowOf(reminder), version });
    },
    async forget(to: Address, name: string): Promise<void> {
      checkReminder(to, name);
      await changeReminders(sql, { kind: 'drop', row: { ...to, name, version: '' } } satisfies ReminderChange).catch(
        unsure,
      );
      release(state, reminderKey(to.type, to.id, name));
    },
    fireTo(given: Host): void {
      state.host = given;
      arm(state);
    },
    pause(given: boolean): void {
      const { paused: wasPaused, near, loop } = state;
      state.paused = given;
      if (given) return disarm(state);
      // whoever had the database fired what was due: what is left says the table, not the memory
      if (wasPaused) for (const { place, key } of near.values()) if (place === 'heap') release(state, key);
      loop?.wake();
      arm(state);
    },
    /** From now on nothing fires. Nudges that the host hands back become rows again, due now. */
    async stop(handedBack: readonly Fired[]): Promise<void> {
      state.host = undefined;
      disarm(state);
      const rows = handedBack.map(({ to, name, data, owner }) =>
        rowOf({ ...to, name, due: new Date(time.now()), data, ...(owner !== undefined && { owner }) }),
      );
      await atMost(clock, CLOSE_MS, () => putBack(state, rows));
    },
    /** Waits for what is done to be deleted, and ends. */
    async close(): Promise<void> {
      state.ended.abort();
      await atMost(clock, CLOSE_MS, () =>
        Promise.allSettled([...state.finishing, state.loop?.[Symbol.asyncDispose]()]),
      );
      state.heap.clear();
      state.near.clear();
    },
  };
}

/** Looks at the table. Answers how long to rest before the next look. */
async function look(state: NearReminders): Promise<number> {
  const { sql, time, nearMs, sweepMs } = state;
  state.touched = new Set();
  try {
    await time.measure(sql);
    const until = time.now() + nearMs;
    state.knownUntil = Math.max(state.knownUntil, until); // before asking: who registers meanwhile remembers his own
    const rows = await nearReminders(sql, until, NEAR_ROWS);
    const whole = rows.length < NEAR_ROWS;
    if (!whole) state.knownUntil = rows.at(-1)!.dueMs;
    compare(state, rows, until, whole);
    state.unreadable = false;
    return whole ? sweepMs : AFTER_FAILURE_MS;
  } finally {
    state.touched = undefined;
  }
}

function afterFailure(state: NearReminders, error: unknown): number {
  if (!state.unreadable) state.log.warn({ err: error }, 'reminders cannot be read, trying again');
  state.unreadable = true;
  return AFTER_FAILURE_MS;
}

/** The table is right, except for what changed since it was asked. */
function compare(state: NearReminders, rows: readonly Row[], until: number, whole: boolean): void {
  const { near, touched } = state;
  const seen = new Set<string>();
  for (const row of rows) {
    const key = reminderKey(row.type, row.id, row.name);
    seen.add(key);
    const known = near.get(key);
    if (known?.version === row.version || touched?.has(key)) continue;
    keepNear(state, row);
    touched?.delete(key);
  }
  if (!whole) return;
  for (const one of near.values())
    if (one.place === 'heap' && one.dueMs <= until && !seen.has(one.key) && !touched?.has(one.key))
      release(state, one.key);
}

/** Only where nothing was registered meanwhile: the newer one is right. */
async function putBack(state: NearReminders, rows: readonly Row[]): Promise<void> {
  const { sql, near, log } = state;
  const waiting = rows.filter((row) => near.get(reminderKey(row.type, row.id, row.name))?.place !== 'heap');
  try {
    await Promise.all(
      waiting.map((row) => changeReminders(sql, { kind: 'set', row }).then(() => remember(state, row))),
    );
  } catch (error) {
    log.warn({ err: error, nudges: rows.length }, 'nudges that had no turn yet are left to the reconciler');
  }
}
