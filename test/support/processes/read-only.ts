import { setImmediate as nextRound } from 'node:timers/promises';
import type { TestDatabase } from '../wire/database.ts';

/**
 * From now on the product's connections are refused every write (`on`), as behind a failed-over address, or are taken
 * again. Those that are open are cut, and known to be cut in this process when it ends.
 */
export async function setReadOnly({ sql, url }: Pick<TestDatabase, 'sql' | 'url'>, on: boolean): Promise<void> {
  await sql.begin('read write', (transaction) =>
    transaction.unsafe(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = ${on}`),
  );
  await sql`
    select pg_terminate_backend(pid, 10_000)
    from pg_stat_activity
    where datname = current_database() and application_name = 'rookery' and pid <> pg_backend_pid()`;
  for (let n = 0; n < 3; n++) await nextRound(); // their last words have arrived by now, and are read
}
