import { randomBytes } from 'node:crypto';
import { type Database, migrate, openDatabase } from '../../../src/platform/db/index.ts';
import type { Clock } from '../../../src/platform/kernel/index.ts';

// Time that is the test's: the product's clock is handed in, and a database finds its own before that of the server, so
// that product SQL and the defaults of its migrations run unchanged.

const CLOCKS = ['now', 'clock_timestamp', 'statement_timestamp', 'transaction_timestamp'];

/** A schema `sim` whose functions of time answer the query `now`; `searchPathOf` has it found before `pg_catalog`. */
export const timeSchema = (now: string): string =>
  [
    'create schema if not exists sim;',
    ...CLOCKS.map(
      (name) => `create function sim.${name}() returns timestamptz language sql stable parallel safe as $$ ${now} $$;`,
    ),
  ].join('\n');
const searchPathOf = (database: string): string =>
  `alter database ${database} set search_path = public, sim, pg_catalog`;

export interface VirtualDatabase extends AsyncDisposable {
  readonly url: string;
  /** For the test. */
  readonly sql: Database;
  /** Lets it be this time in every session, from their next statements on. */
  setTime(at: number): Promise<unknown>;
}

/** A migrated database whose time is `at` until it is set. Disposing of it drops it. */
export async function virtualDatabase(at: number): Promise<VirtualDatabase> {
  const server = process.env['TEST_DATABASE_URL']!;
  const name = `rookery_test_time_${randomBytes(6).toString('hex')}`;
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  const root = openDatabase({ url: server, connections: 1 });
  await root.unsafe(`create database ${name}`);
  await root.unsafe(searchPathOf(name));
  const sql = openDatabase({ url, connections: 2 });
  await sql.unsafe(`
    create schema sim;
    create table sim.clock (at timestamptz not null);
    insert into sim.clock values ('${new Date(at).toISOString()}');`);
  await sql.unsafe(timeSchema('select at from sim.clock'));
  await migrate(sql);
  return {
    url,
    sql,
    setTime: (time) => sql`update sim.clock set at = ${new Date(time)}`,
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 1 });
      await root.unsafe(`drop database if exists ${name} with (force)`);
      await root.end();
    },
  };
}

interface Sleeper {
  at: number;
  /** How long it was to sleep. */
  ms: number;
  awake(): void;
}

/** A clock that stands still until it is moved. */
export function virtualClock(start: number) {
  let now = start;
  const sleepers = new Set<Sleeper>();
  const asleep = (ms: number, awake: () => void): Sleeper => {
    const sleeper = { at: now + ms, ms, awake };
    sleepers.add(sleeper);
    return sleeper;
  };
  const clock: Clock = {
    now: () => new Date(now),
    in: (ms) => new Date(now + ms),
    monotonic: () => now - start,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const stop = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        const sleeper = asleep(ms, () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        });
        signal?.addEventListener('abort', stop, { once: true });
        if (ms <= 0) wake(sleeper);
      }),
    every(ms, work) {
      let sleeper: Sleeper;
      const again = () => {
        sleeper = asleep(ms, () => {
          again();
          work();
        });
      };
      again();
      return { [Symbol.dispose]: () => void sleepers.delete(sleeper) };
    },
  };
  function wake(sleeper: Sleeper): void {
    sleepers.delete(sleeper);
    sleeper.awake();
  }
  return {
    clock,
    get now() {
      return now;
    },
    /** Those who wait for a time. */
    get asleep() {
      return sleepers.size;
    },
    moveTo(time: number): void {
      now = time;
    },
    /** Wakes those whose time has come, of them those that slept for at least `leastMs`. */
    wake(leastMs = 0): void {
      for (const sleeper of sleepers) if (sleeper.at <= now && sleeper.ms >= leastMs) wake(sleeper);
    },
  };
}
export type VirtualClock = ReturnType<typeof virtualClock>;
