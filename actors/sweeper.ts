import type { Channels } from '../src/channels/index.ts';
import { type Database, declareRuns, dropOldKeys, dueRuns, type Lease, noteRun } from '../src/db/index.ts';
import type { Clock } from '../src/kernel/index.ts';
import type { Media } from '../src/media/index.ts';
import type { Posts } from '../src/posts/index.ts';
import { dropOldLedger } from '../src/providers/index.ts';
import type { Log } from '../src/telemetry/index.ts';
import type { Webhooks } from '../src/webhooks/index.ts';

/** Periodic work on what nobody needs any more. */
export interface Sweep {
  name: string;
  everyMs: number;
  /** Does a part of it, at most `limit` rows on an index, and answers how many there were; called again while it answers `limit` or more. */
  run(limit: number): Promise<number>;
}
interface Rooms {
  sql: Database;
  media: Pick<Media, 'sweep'>;
  channels: Pick<Channels, 'dropOldLogins'>;
  posts: Pick<Posts, 'sweeps'>;
  webhooks: Pick<Webhooks, 'dropOld'>;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Every sweep there is. Hosts that fell silent are forgotten by the beats of those that live. */
export const sweepsOf = ({ sql, media, channels, posts, webhooks }: Rooms): readonly Sweep[] => [
  { name: 'idempotency-keys', everyMs: 15 * MINUTE, run: (limit) => dropOldKeys(sql, limit) },
  { name: 'logins', everyMs: 15 * MINUTE, run: (limit) => channels.dropOldLogins(limit) },
  { name: 'media', everyMs: HOUR, run: () => media.sweep() },
  { name: 'lateness', everyMs: HOUR, run: (limit) => posts.sweeps.dropLateness(limit) },
  { name: 'webhook-deliveries', everyMs: HOUR, run: (limit) => webhooks.dropOld(limit) },
  { name: 'sandbox-ledger', everyMs: HOUR, run: (limit) => dropOldLedger(sql, limit) },
];

export interface SweeperOptions {
  sql: Database;
  sweeps: readonly Sweep[];
  /** One sweeper over all processes. */
  lease: Lease;
  clock: Clock;
  log: Log;
  /** Between two looks at what is due. */
  tickMs?: number;
  limit?: number;
}
export interface Sweeper extends AsyncDisposable {
  /** Runs what is due, one after the other; answers the names. Tests call it, the timer does too. */
  tick(): Promise<readonly string[]>;
}

const MOST_ROUNDS = 200;

/** Runs each sweep when its interval is over, in one process at a time, and keeps when it last ran, how that ended and how long it took (HE5). */
export function startSweeper({ sql, sweeps, lease, clock, log, tickMs = 30_000, limit = 500 }: SweeperOptions): Sweeper {
  const stopping = new AbortController();
  let declared = false;

  async function runWhole({ name, run }: Sweep): Promise<void> {
    const started = clock.monotonic();
    let changed = 0;
    let status: 'ok' | 'failed' = 'ok';
    try {
      for (let round = 0; round < MOST_ROUNDS && !stopping.signal.aborted; round++) {
        const done = await run(limit);
        changed += done;
        if (done < limit || !(await lease.held())) break;
      }
    } catch (error) {
      status = 'failed';
      log.warn({ sweep: name, err: error }, 'a sweep failed and is made again when its interval is over');
    }
    await noteRun(sql, { name, status, durationMs: clock.monotonic() - started, changed });
  }

  async function tick(): Promise<readonly string[]> {
    if (!(await lease.held())) return [];
    if (!declared)
      await declareRuns(
        sql,
        sweeps.map(({ name }) => name),
      );
    declared = true;
    const due = await dueRuns(sql, sweeps);
    for (const name of due) {
      if (stopping.signal.aborted || !(await lease.held())) break;
      await runWhole(sweeps.find((sweep) => sweep.name === name)!);
    }
    return due;
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(tickMs, stopping.signal).catch(() => {});
      if (stopping.signal.aborted) return;
      await tick().catch((error: unknown) => log.warn({ err: error }, 'the sweeps could not be looked at'));
    }
  })();
  return {
    tick,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
      await lease.release().catch((error: unknown) => log.warn({ err: error }, 'the lease of the sweeper could not be given up: it expires'));
    },
  };
}
