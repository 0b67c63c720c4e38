import { startLoop } from '../flow/index.ts';
import { systemClock } from '../kernel/index.ts';
import type { Database } from './client.ts';

/** A session that another one waits for. What this role may not see of it is empty. */
export interface LockHolder {
  pid: number;
  application: string;
  state: string;
  /** Since its transaction began. */
  seconds: number | null;
  /** It holds the lock of a vacuum, or of what excludes one. */
  isVacuum: boolean;
}

const LOOK_MS = 200;
/** A wait that has lasted for so many looks is told. */
const LONG = 15;

const findLockHolders = (sql: Database, pid: number) => sql<LockHolder[]>`
  select b.pid,
    coalesce(a.application_name, '') as application,
    coalesce(a.state, a.backend_type, '') as state,
    extract(epoch from clock_timestamp() - a.xact_start)::int as seconds,
    exists (
      select
      from pg_locks l
      where l.pid = b.pid and l.granted and l.mode = 'ShareUpdateExclusiveLock' and l.locktype = 'relation'
    ) as "isVacuum"
  from unnest(pg_blocking_pids(${pid}::int)) b (pid)
  left join pg_stat_activity a on a.pid = b.pid
  order by a.xact_start
  limit 5`;

/** Looks whom a session waits for, until disposed of. `onLong` is told once, when it has waited for seconds. */
export function watchLockHolders(
  sql: Database,
  pid: number,
  onLong: (holders: readonly LockHolder[]) => void,
): AsyncDisposable & { last(): readonly LockHolder[] } {
  let last: readonly LockHolder[] = [];
  let looks = 0;
  const loop = startLoop({
    clock: systemClock,
    firstRestMs: LOOK_MS,
    restMs: LOOK_MS,
    async round() {
      const holders = await findLockHolders(sql, pid);
      looks = holders.length > 0 ? looks + 1 : 0;
      if (holders.length > 0) last = holders;
      if (looks === LONG) onLong(holders);
    },
    onError: () => {}, // the migration itself meets what is wrong with the database
  });
  return { last: () => last, [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose]() };
}

/** The sessions in words, for an error that a person reads. */
export const lockHoldersText = (holders: readonly LockHolder[]): string =>
  holders.length === 0
    ? 'Who holds them is not known'
    : `In its way: ${holders
        .map(
          ({ pid, application, state, seconds }) =>
            `process ${pid} (${[application || 'no application name', state || 'state unknown'].join(', ')}${seconds === null ? '' : `, transaction of ${seconds} s`})`,
        )
        .join('; ')}`;
