import { randomBytes } from 'node:crypto';
import type { Database } from '../../../../src/platform/db/index.ts';

/**
 * Has the database refuse to write some rows of a table, until it is disposed of. `when`: which, as a condition on `old`
 * or `new`.
 */
export async function refuseRows(
  sql: Database,
  event: 'insert' | 'update' | 'delete',
  table: string,
  when: string,
): Promise<AsyncDisposable> {
  const name = `refuse_${randomBytes(6).toString('hex')}`;
  await sql.unsafe(`
    create function ${name}() returns trigger language plpgsql as $$ begin raise exception 'refused by the test'; end $$;
    create trigger ${name} before ${event} on ${table} for each row when (${when}) execute function ${name}();`);
  return { [Symbol.asyncDispose]: async () => void (await sql.unsafe(`drop function ${name} cascade`)) };
}
