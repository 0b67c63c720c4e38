import type { Database } from '../../db/index.ts';
import { AppError, type Clock, draining } from '../../kernel/index.ts';
import { checkAddress } from '../address.ts';
import type { Engine } from '../engine.ts';
import { holdDatabase } from '../database-lock.ts';
import type { Host, RuntimeLog } from '../host.ts';
import { type HeartbeatLoop, startHeartbeat } from '../hosts.ts';
import { openReminders } from './reminders.ts';
import { countReminders, stateStore } from './store.ts';
import { databaseTime } from './time.ts';

export interface EmbeddedEngineOptions {
  sql: Database;
  clock: Clock;
  log: RuntimeLog;
  /** Where this process listens, for people. */
  address: string;
  /** Of this start of this process. */
  incarnation: string;
  /** Until a failed default reminder comes again. */
  retryMs?: number;
  /** Between two looks at the table, and how far each looks ahead. */
  sweepMs?: number;
  nearMs?: number;
}

/**
 * The engine of one process: turns here, reminders and state in the database, which it holds for itself alone. Rejects
 * when another process works on it.
 */
export async function openEmbeddedEngine({
  sql,
  clock,
  log,
  address,
  incarnation,
  retryMs = 5_000,
  sweepMs = 30_000,
  nearMs = 90_000,
}: EmbeddedEngineOptions): Promise<Engine & AsyncDisposable> {
  const hold = await holdDatabase({
    sql,
    mode: 'exclusive',
    clock,
    log,
    onChange: (state) => reminders.pause(state === 'taken'),
  });
  const isTaken = () => hold.state() === 'taken';
  const time = databaseTime(clock);
  const reminders = openReminders({ sql, clock, time, log, retryMs, sweepMs, nearMs });
  const states = stateStore(sql);
  let host: Host | undefined;
  let heartbeat: HeartbeatLoop | undefined;
  try {
    await reminders.open();
  } catch (error) {
    await hold[Symbol.asyncDispose]();
    throw error;
  }

  async function drain(leaving: Host): Promise<void> {
    if (host !== leaving) return;
    host = undefined;
    await reminders.stop(leaving.refuse());
    const left = await leaving.settle();
    if (left.turns + left.background > 0) log.warn(left, 'the host went away with work that did not end in time');
    await heartbeat?.[Symbol.asyncDispose]();
    heartbeat = undefined;
  }

  return {
    name: 'embedded',
    isAlone: true,
    invoke(to, method, input) {
      try {
        checkAddress(to);
        if (isTaken()) throw new AppError('unavailable', 'Another process works on this database now');
        if (!host) throw draining();
        return host.call(to, method, input);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    remind: reminders.remind,
    remindWithin: reminders.remindWithin,
    remindIn: reminders.remindIn,
    reminded: reminders.reminded,
    forget: reminders.forget,
    async host(given, options) {
      if (host) throw new Error('This engine has a host already');
      given.attach({
        remind: reminders.remind,
        forget: reminders.forget,
        loadState: states.load,
        saveState: states.save,
      });
      heartbeat = await startHeartbeat({
        sql: hold.session,
        clock,
        log,
        incarnation,
        engine: 'embedded',
        address,
        host: given,
        ...options,
      });
      host = given;
      reminders.fireTo(given);
      return { [Symbol.asyncDispose]: () => drain(given) };
    },
    heartbeatAgeMs: () => heartbeat?.heartbeatAgeMs() ?? Infinity,
    steadySince: () => heartbeat?.steadySince() ?? Infinity,
    reminderCounts: () => countReminders(sql),
    runtimeReport: async () => undefined,
    isAway: isTaken,
    async [Symbol.asyncDispose]() {
      if (host) await drain(host);
      await reminders.close();
      await hold[Symbol.asyncDispose]();
    },
  };
}
