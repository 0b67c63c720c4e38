import { type Database, openSession, type Sql } from '../db/index.ts';
import { startLoop } from '../flow/index.ts';
import { type Clock, StartError } from '../kernel/index.ts';
import type { RuntimeLog } from './host.ts';

/** A lock of the session and of this database: freed by the server at the moment the process is gone. */
const LOCK = 7_261_945;
const GRACE_MS = 1_500; // a process that was just killed may need a moment to be noticed
const SOON_MS = 100;
const AGAIN_MS = 1_000;
const HELD_MS = 3_600_000;
/**
 * When the server gives up on a session whose machine is gone without a word, and frees its lock: after 25 s, for which
 * its own settings may take hours. Over a Unix socket they say nothing.
 */
const WATCHED = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
};
/** Sets them in a statement, as a pooler refuses a greeting with settings that it does not know. */
const watch = (sql: Sql) => sql`(
  select count(set_config(name, value, false))
  from unnest(${Object.keys(WATCHED)}::text[], ${Object.values(WATCHED).map(String)}::text[]) as s (name, value)
  where current_setting(name, true) is not null
) as watched`;

/**
 * `held`; `lost` while the database is away and nobody else is known to work on it; `taken` when another process got in
 * meanwhile.
 */
export type HoldState = 'held' | 'lost' | 'taken';

export interface Hold extends AsyncDisposable {
  /** The session of the lock, for statements that must not queue behind others: the heartbeat. */
  readonly session: Database;
  state(): HoldState;
}

interface Options {
  sql: Database;
  /** `exclusive` for the embedded engine, `shared` for each process of the Dapr engine. */
  mode: 'exclusive' | 'shared';
  clock: Clock;
  log: RuntimeLog;
  onChange?(state: HoldState): void;
}

const refusal = (mode: Options['mode'], others: string) =>
  mode === 'exclusive'
    ? `Another Rookery process works on this database already${others}. ` +
      'The embedded engine runs in one process only: stop the other one, ' +
      'or run several on Dapr (`npm run cluster`, or ACTOR_ENGINE=dapr for each of them).'
    : `A Rookery process on the embedded engine works on this database already${others}. ` +
      'Stop it before starting processes on Dapr.';

/**
 * Keeps every engine but one's own kind away from a database: one embedded process, or any number of Dapr ones.
 * Refused with a `StartError` that says what to do. Taken again by itself after the database was away.
 */
export async function holdDatabase({ sql, mode, clock, log, onChange }: Options): Promise<Hold> {
  let state: HoldState = 'lost';
  let ended = false;
  let graceUntil = clock.monotonic() + GRACE_MS;
  const session = openSession(sql, () => void (state === 'held' && !ended && lost()));

  const become = (next: HoldState) => {
    if (state === next) return;
    state = next;
    onChange?.(next);
  };
  const take = async () => {
    const watched = watch(session);
    const rows =
      mode === 'exclusive'
        ? await session<{ held: boolean }[]>`select pg_try_advisory_lock(${LOCK}::bigint) as held, ${watched}`
        : await session<{ held: boolean }[]>`select pg_try_advisory_lock_shared(${LOCK}::bigint) as held, ${watched}`;
    return rows[0]!.held;
  };

  function lost(): void {
    become('lost');
    graceUntil = clock.monotonic() + GRACE_MS; // our own last session may need that to be noticed
    log.warn({ mode }, 'the session that holds the database ended, taking it again');
    loop.wake();
  }

  /** Takes the lock again; answers how long to rest. */
  async function keep(): Promise<number> {
    if (state === 'held') return HELD_MS;
    if (await take()) become('held');
    else if (state !== 'taken') {
      if (clock.monotonic() < graceUntil) return SOON_MS;
      become('taken');
      log.error(
        { mode, refusal: refusal(mode, await whoElse()) },
        'another process has taken the database: no actor runs here until it ends',
      );
    }
    return AGAIN_MS;
  }

  async function whoElse(): Promise<string> {
    const [other] = await session<
      { engine: string; address: string }[]
    >`select engine, address from actor_hosts order by last_heartbeat desc limit 1`.catch(() => []);
    return other ? ` (last seen: ${other.engine} at ${other.address})` : '';
  }

  const end = async () => {
    ended = true;
    await session.end({ timeout: 1 });
  };

  try {
    while (!(await take())) {
      if (clock.monotonic() > graceUntil) throw new StartError(refusal(mode, await whoElse()));
      await clock.sleep(SOON_MS);
    }
  } catch (error) {
    await end();
    throw error;
  }
  state = 'held';
  const loop = startLoop({
    clock,
    firstRestMs: HELD_MS,
    restMs: AGAIN_MS,
    round: keep,
    onError: (error) => log.debug({ err: error }, 'the database is still away, trying again'),
  });
  return {
    session,
    state: () => state,
    async [Symbol.asyncDispose]() {
      void loop[Symbol.asyncDispose](); // its statement ends with the session
      await end();
    },
  };
}
