import { systemClock } from '../kernel/index.ts';
import { type Database, openSession } from './client.ts';

const LOCK = 7_261_944;
const LOCK_POLL_MS = 100;

/** The one session that migrates a database now. */
export interface MigrationSession extends AsyncDisposable {
  connection: Database;
  pid: number;
  /** Throws when the session ended: its lock is gone, and the next statement would go out on another one. */
  checkHeld(): void;
}

/**
 * Waits until this session alone migrates. It asks again and again: one that waits inside `pg_advisory_lock` has a
 * snapshot, for whose end an index that is built concurrently would wait, and so for each other.
 */
export async function openMigrationSession(sql: Database): Promise<MigrationSession> {
  let isLost = false;
  const connection = openSession(sql, () => void (isLost = true));
  try {
    for (;;) {
      isLost = false;
      const [row] = await connection<{ held: boolean; pid: number }[]>`
        select pg_try_advisory_lock(${LOCK}::bigint) as held, pg_backend_pid() as pid`;
      if (row!.held) {
        // limits of the role or the database are meant for requests
        await connection`
          select set_config(name, '0', false)
          from pg_settings
          where name in ('lock_timeout', 'statement_timeout', 'transaction_timeout')`;
        return {
          connection,
          pid: row!.pid,
          checkHeld() {
            if (isLost) throw new Error('The connection to the database was lost while it was migrated. Start again.');
          },
          async [Symbol.asyncDispose]() {
            if (!isLost) await connection`select pg_advisory_unlock(${LOCK}::bigint)`.catch(() => undefined);
            await connection.end({ timeout: 5 });
          },
        };
      }
      await systemClock.sleep(LOCK_POLL_MS);
    }
  } catch (error) {
    await connection.end({ timeout: 5 });
    throw error;
  }
}
