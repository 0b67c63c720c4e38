import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dueReminder } from '../../../../actors/channel/contract.ts';
import { actorTypes } from '../../../../actors/host/start.ts';
import { type Context, type ContextOptions, type EngineAndBus, openContext } from '../../../../src/context.ts';
import { readConfig } from '../../../../src/platform/config/index.ts';
import type { Clock } from '../../../../src/platform/kernel/index.ts';
import { eventually } from '../../wire/eventually.ts';
import type { VirtualDatabase } from '../../wire/virtual-time.ts';
import { type Cut, watchedDatabase } from '../../wire/database/watched-database.ts';
import { JWT_SECRET, noEngine } from '../app.ts';
import { quietLog } from '../quiet-log.ts';

// One piece of work of the product, killed at each place where it waits: at each statement that it sends, and at each
// request that it makes of others.

/** Actors are called by nobody here; the host itself is there. */
const alone: EngineAndBus = {
  ...noEngine,
  engine: {
    ...noEngine.engine,
    remindWithin: async () => () => undefined,
    heartbeatAgeMs: () => 0,
    steadySince: () => -Infinity,
  },
};

/** Where a host dies: at its n-th statement, or at its n-th request of others. */
export type Place = { at: number; cut: 'before' | 'after' } | { request: number };

/** One process. `died` ends when it is killed. */
export interface CrashingHost extends AsyncDisposable {
  readonly context: Context;
  readonly died: Promise<'died'>;
  readonly isDead: boolean;
  /** Until nothing of it is left at the server, as after the death of a process. */
  buried(): Promise<void>;
  /** The statements that it has sent since the count began, each with whether it stands in a transaction. */
  readonly sent: readonly { text: string; isInside: boolean }[];
  /** From here on statements count; `place`: where it dies. */
  count(place?: Place): void;
  /** A request has arrived at somebody else: true, the host is dead, and nothing is answered. */
  asked(): boolean;
  readonly requests: number;
}

export interface Crashing {
  db: Pick<VirtualDatabase, 'url' | 'sql'>;
  env: Record<string, string>;
  now(): number;
  parts: Pick<ContextOptions, 'adapters' | 'network' | 'servers'>;
}

/** What this process does by itself is written before the work begins: a sleep that a death ends never ends. */
function clockOf(now: () => number, isDead: () => boolean): Clock {
  return {
    now: () => new Date(now()),
    in: (ms) => new Date(now() + ms),
    monotonic: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return isDead() ? undefined : reject(signal.reason);
        const stop = () => {
          clearTimeout(timer);
          if (!isDead()) reject(signal?.reason);
        };
        const timer = setTimeout(() => {
          signal?.removeEventListener('abort', stop);
          if (!isDead()) resolve();
        }, ms).unref();
        signal?.addEventListener('abort', stop, { once: true });
      }),
    every(ms, work) {
      const timer = setInterval(() => void (isDead() || work()), ms).unref();
      return { [Symbol.dispose]: () => clearInterval(timer) };
    },
  };
}

/** Opens the rooms of a process that can die. */
export async function openCrashing({ db, env, now, parts }: Crashing): Promise<CrashingHost> {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-crash-'));
  const { promise: died, resolve } = Promise.withResolvers<'died'>();
  const sent: { text: string; isInside: boolean }[] = [];
  let place: Place | undefined;
  let isCounted = false;
  let depth = 0;
  let requests = 0;
  function onStatement(text: string): Cut {
    if (!isCounted) return undefined;
    const isEnd = text === 'commit' || text === 'rollback';
    sent.push({ text, isInside: depth > 0 && !isEnd });
    if (text === 'begin') depth += 1;
    if (isEnd) depth -= 1;
    if (!place || !('at' in place) || place.at !== sent.length) return undefined;
    const { cut } = place;
    // it is dead by the time that anybody looks: at once, or when the answer was to come
    const look = () => (watched.isDead ? resolve('died') : void setImmediate(look));
    setImmediate(look);
    return cut;
  }
  const watched = watchedDatabase(db.url, { onStatement, connections: 4 });
  const log = quietLog();
  const { config } = readConfig({ JWT_SECRET, BACKEND_LISTEN_HOST: '127.0.0.1', DATA_FOLDER: folder, ...env });
  const context = await openContext(config, {
    logs: { of: () => log },
    actorTypes,
    channelReminder: dueReminder,
    sandboxUrl: undefined,
    sql: watched.sql,
    engine: alone,
    clock: clockOf(now, () => watched.isDead),
    ...parts,
  });
  return {
    context,
    died,
    sent,
    get isDead() {
      return watched.isDead;
    },
    get requests() {
      return requests;
    },
    buried: () => eventually('its connections are gone', async () => !(await watched.isHeld(db.sql))),
    count(wanted) {
      [place, isCounted, depth, requests] = [wanted, true, 0, 0];
      sent.length = 0;
    },
    asked() {
      if (watched.isDead) return true;
      requests += 1;
      if (!place || !('request' in place) || place.request !== requests) return false;
      watched.kill();
      resolve('died');
      return true;
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
      if (watched.isDead) return; // whatever waits, waits for ever
      const closed = context[Symbol.asyncDispose]().then(() => watched.sql.end({ timeout: 1 }));
      await Promise.race([closed, died]); // it may die at a statement of its end
    },
  };
}
