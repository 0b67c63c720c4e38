import type { Database, Sql } from '../../db/index.ts';
import { AppError, type Clock, invalidField, newId } from '../../kernel/index.ts';
import { type Address, checkReminder, type Reminder, reminderKey } from '../address.ts';
import type { Fired, Host, RuntimeLog } from '../host.ts';
import { atMost, FairQueue, type Loop, startLoop } from '../../flow/index.ts';
import { Heap } from './heap.ts';
import { type ReminderChange, changeReminders, nearReminders, putReminders, type Row } from './store.ts';
import type { DatabaseTime } from './time.ts';

/** Default reminders at work at a time. */
const AT_WORK = 256;
/** Rows that one look at the table takes into memory. */
const NEAR_ROWS = 50_000;
/** After this long a nudge that found its queue full is offered again. */
const OFFER_AGAIN_MS = 250;
const CLOSE_MS = 1_500;
const AFTER_FAILURE_MS = 1_000;

interface Near extends Row {
  key: string;
  /** When it is to fire, by the database's clock: its due time, later after a failure. */
  at: number;
  /** In the heap; at work; done and waiting for its row to be deleted. */
  place: 'heap' | 'work' | 'done';
  dropped: boolean;
}

interface Options {
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
export type Reminders = ReturnType<typeof openReminders>;

const rowOf = ({ type, id, name, due, owner, data }: Reminder): Row => {
  checkReminder({ type, id }, name);
  if (Number.isNaN(due.getTime())) throw invalidField('due', 'due is no date');
  return { type, id, name, dueMs: due.getTime(), owner, data, version: newId() };
};

/**
 * The reminders of the embedded engine: rows in `actor_reminders`, the near ones in memory too, one timer set to the
 * first of them.
 */
export function openReminders({ sql, clock, time, log, retryMs, sweepMs, nearMs }: Options) {
  const heap = new Heap<Near>();
  const near = new Map<string, Near>();
  const ready = new FairQueue<Near>(); //  default reminders whose time has come
  const offered = new FairQueue<Near>(); // nudges whose time has come
  const finishing = new Set<Promise<void>>();
  const ended = new AbortController();
  let host: Host | undefined;
  let paused = false;
  let working = 0;
  let offering = false;
  let timer: NodeJS.Timeout | undefined;
  let timerAt = Infinity;
  let loop: Loop | undefined;
  let unreadable = false;
  /** All reminders due until then are in memory, or on their way into it. */
  let knownUntil = -Infinity;
  /** What changed in memory since the look at the table began that is under way: that look is older. */
  let touched: Set<string> | undefined;

  // --- The near ones in memory

  /** After its commit. Two that overlapped were committed in an order that only the table knows. */
  function remember(row: Row): void {
    const known = near.get(reminderKey(row.type, row.id, row.name));
    if (known && known.version > row.version) return loop?.wake();
    keep({ ...row, data: row.data === undefined ? undefined : JSON.parse(JSON.stringify(row.data)) });
  }

  function keep(row: Row): void {
    const key = reminderKey(row.type, row.id, row.name);
    release(key);
    if (row.dueMs > knownUntil) return;
    const one: Near = { ...row, key, at: row.dueMs, place: 'heap', dropped: false };
    near.set(key, one);
    heap.push(one);
    arm();
  }

  /** Forgets what memory holds under a key. A callback that runs goes on, and finds at its end that it was replaced. */
  function release(key: string): void {
    touched?.add(key);
    const known = near.get(key);
    if (!known) return;
    near.delete(key);
    if (known.place === 'heap') heap.drop(known);
    else known.dropped = true;
  }

  function again(one: Near, ms: number): void {
    if (one.dropped) return;
    one.at = time.now() + ms;
    one.place = 'heap';
    heap.push(one);
    arm();
  }

  // --- Firing

  function arm(): void {
    const first = heap.peek();
    if (!host || paused || !first || (timer && timerAt <= first.at)) return;
    clearTimeout(timer);
    timerAt = first.at;
    timer = setTimeout(fireDue, Math.max(0, Math.ceil(first.at - time.now())));
  }

  function fireDue(): void {
    timer = undefined;
    if (!host || paused) return;
    const now = time.now();
    for (let first = heap.peek(); first && first.at <= now; first = heap.peek()) {
      heap.shift();
      first.place = 'work';
      if (!host.types.includes(first.type)) again(first, sweepMs);
      else (host.isNudge(first.type, first.name) ? offered : ready).push(first.owner, first);
    }
    void offerAll(host);
    workOff(host);
    arm();
  }

  /**
   * One nudge after the other, until the host has no room: the rest waits here, and only the next one is offered again.
   */
  async function offerAll(to: Host): Promise<void> {
    if (offering) return;
    offering = true;
    for (let one = offered.shift(); one; one = offered.shift()) {
      if (one.dropped) continue;
      if (host !== to || paused) {
        again(one, OFFER_AGAIN_MS);
        continue;
      }
      if (await offer(to, one)) continue;
      offered.push(one.owner, one);
      await clock.sleep(OFFER_AGAIN_MS, ended.signal).catch(() => {});
      if (ended.signal.aborted) break;
    }
    offering = false;
  }
  /**
   * A nudge is gone as soon as the host has noted it: its row and the scan of the reconciler carry the guarantee.
   * False: the host is full.
   */
  async function offer(to: Host, one: Near): Promise<boolean> {
    try {
      await to.fire({ type: one.type, id: one.id }, one.name, one.data, one.owner);
    } catch (error) {
      if (error instanceof AppError && error.code === 'busy') return false;
      again(one, OFFER_AGAIN_MS); // this host goes away
      return true;
    }
    finish(one);
    return true;
  }

  function workOff(to: Host): void {
    while (working < AT_WORK) {
      const one = ready.shift();
      if (!one) return;
      if (one.dropped) continue;
      working += 1;
      void run(to, one).finally(() => {
        working -= 1;
        if (host === to) workOff(to);
      });
    }
  }

  async function run(to: Host, one: Near): Promise<void> {
    try {
      await to.fire({ type: one.type, id: one.id }, one.name, one.data, one.owner);
    } catch (error) {
      log.debug({ err: error, type: one.type, id: one.id, reminder: one.name }, 'A reminder comes again');
      return again(one, retryMs);
    }
    finish(one);
  }

  /** Deletes the row of what is done, however long the database is away; until then memory knows that it is done. */
  function finish(one: Near): void {
    if (one.dropped) return;
    one.place = 'done';
    const deleting = (async () => {
      for (;;) {
        try {
          await changeReminders(sql, { kind: 'done', row: one });
          if (!one.dropped) release(one.key);
          return;
        } catch (error) {
          log.debug(
            { err: error, type: one.type, id: one.id, reminder: one.name },
            'The row of a reminder that is done cannot be deleted yet',
          );
        }
        if (ended.signal.aborted) return;
        await clock.sleep(AFTER_FAILURE_MS, ended.signal).catch(() => {});
      }
    })().finally(() => finishing.delete(deleting));
    finishing.add(deleting);
  }

  // --- The look at the table

  /** Answers how long to rest before the next one. */
  async function look(): Promise<number> {
    touched = new Set();
    try {
      await time.measure(sql);
      const until = time.now() + nearMs;
      knownUntil = Math.max(knownUntil, until); // before asking: who registers meanwhile remembers his own
      const rows = await nearReminders(sql, until, NEAR_ROWS);
      const whole = rows.length < NEAR_ROWS;
      if (!whole) knownUntil = rows.at(-1)!.dueMs;
      compare(rows, until, whole);
      unreadable = false;
      return whole ? sweepMs : AFTER_FAILURE_MS;
    } finally {
      touched = undefined;
    }
  }
  function afterFailure(error: unknown): number {
    if (!unreadable) log.warn({ err: error }, 'Reminders cannot be read');
    unreadable = true;
    return AFTER_FAILURE_MS;
  }

  /** The table is right, except for what changed since it was asked. */
  function compare(rows: readonly Row[], until: number, whole: boolean): void {
    const seen = new Set<string>();
    for (const row of rows) {
      const key = reminderKey(row.type, row.id, row.name);
      seen.add(key);
      const known = near.get(key);
      if (known?.version === row.version || touched?.has(key)) continue;
      keep(row);
      touched?.delete(key);
    }
    if (!whole) return;
    for (const one of near.values())
      if (one.place === 'heap' && one.dueMs <= until && !seen.has(one.key) && !touched?.has(one.key)) release(one.key);
  }

  /** Nobody knows whether the statement took effect: the table does. */
  function unsure(error: unknown): never {
    loop?.wake();
    throw error;
  }

  return {
    /** Reads what is near; the first look must succeed. */
    async open(): Promise<void> {
      for (let n = 0; n < 3; n++) await time.measure(sql);
      await nearReminders(sql, 0, 1); // a database that cannot be read is the caller's to hear of
      loop = startLoop({
        clock,
        firstRestMs: await look().catch(afterFailure),
        restMs: sweepMs,
        round: look,
        onError: afterFailure,
      });
    },
    async remind(reminders: readonly Reminder[]): Promise<void> {
      const rows = reminders.map(rowOf);
      await Promise.all(
        rows.map(async (row) => {
          await changeReminders(sql, { kind: 'set', row }).catch(unsure);
          remember(row);
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
      return () => rows.forEach(remember);
    },
    async forget(to: Address, name: string): Promise<void> {
      checkReminder(to, name);
      await changeReminders(sql, { kind: 'drop', row: { ...to, name, version: '' } } satisfies ReminderChange).catch(
        unsure,
      );
      release(reminderKey(to.type, to.id, name));
    },
    fireTo(given: Host): void {
      host = given;
      arm();
    },
    pause(given: boolean): void {
      paused = given;
      if (!paused) {
        loop?.wake();
        return arm();
      }
      clearTimeout(timer);
      timer = undefined;
    },
    /** From now on nothing fires. Nudges that the host hands back become rows again, due now. */
    async stop(handedBack: readonly Fired[]): Promise<void> {
      host = undefined;
      clearTimeout(timer);
      timer = undefined;
      const rows = handedBack.map(({ to, name, data, owner }) =>
        rowOf({ ...to, name, due: new Date(time.now()), data, ...(owner !== undefined && { owner }) }),
      );
      await atMost(clock, CLOSE_MS, () => putBack(rows));
    },
    /** Waits for what is done to be deleted, and ends. */
    async close(): Promise<void> {
      ended.abort();
      await atMost(clock, CLOSE_MS, () => Promise.allSettled([...finishing, loop?.[Symbol.asyncDispose]()]));
      heap.clear();
      near.clear();
    },
  };

  /** Only where nothing was registered meanwhile: the newer one is right. */
  async function putBack(rows: readonly Row[]): Promise<void> {
    const waiting = rows.filter((row) => near.get(reminderKey(row.type, row.id, row.name))?.place !== 'heap');
    try {
      await Promise.all(waiting.map((row) => changeReminders(sql, { kind: 'set', row }).then(() => remember(row))));
    } catch (error) {
      log.warn({ err: error, nudges: rows.length }, 'Nudges that had no turn yet are left to the reconciler');
    }
  }
}
