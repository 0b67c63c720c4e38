import { indexStatementsOf } from '../../../../src/platform/db/concurrent-indexes.ts';
import type { Database } from '../../../../src/platform/db/index.ts';

/** The last migration of the schema of the first release: what comes after it runs where others are served. */
export const FIRST_RELEASE = 174;

/** Rows of a table that a migration may read or change, however many it has. */
const FEW = 10;
/** Locks of a table that keep readers or writers out. */
const EXCLUDING = ['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'];

interface Table {
  name: string;
  file: string;
  reads: number;
  writes: number;
  locks: string[];
}
/** What this transaction has done to each table; the counters of a session may hold what came before it. */
const findTables = (tx: Pick<Database, 'unsafe'>) =>
  tx.unsafe<Table[]>(`
    select c.relname as name, pg_relation_filenode(c.oid)::text as file,
      (coalesce(s.seq_tup_read, 0) + coalesce(s.idx_tup_fetch, 0))::int as reads,
      (s.n_tup_upd + s.n_tup_del)::int as writes,
      array(
        select l.mode
        from pg_locks l
        where l.locktype = 'relation' and l.relation = c.oid and l.pid = pg_backend_pid() and l.granted
      ) as locks
    from pg_class c
    join pg_stat_xact_all_tables s on s.relid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    order by c.relname`);

const UNDONE = new Error('Judged and undone');

/**
 * Runs a migration on tables that hold more than a few rows, looks what it has read, changed and locked, and undoes it.
 * Answers what it must not do where others work on these tables; nothing for one that may run there.
 */
export async function judgeMigration(sql: Database, file: string, text: string): Promise<string[]> {
  if (indexStatementsOf(file, text)) return []; // it excludes nobody, and holds nothing else
  const faults: string[] = [];
  await sql
    .begin(async (tx) => {
      // a row that is looked up by its key counts as one, and nobody reads for this session
      await tx.unsafe(`
        set local enable_seqscan = off;
        set local max_parallel_maintenance_workers = 0;
        set local max_parallel_workers_per_gather = 0`);
      const before = new Map((await findTables(tx)).map((table) => [table.name, table]));
      await tx.unsafe(text);
      const after = (await findTables(tx)).filter(({ name }) => before.has(name));
      const excluded = after.filter(({ locks }) => locks.some((lock) => EXCLUDING.includes(lock)));
      for (const { name, file: now, reads, writes } of after) {
        const was = before.get(name)!;
        if (now !== was.file) faults.push(`rewrites ${name}`);
        if (excluded.length > 0 && reads - was.reads > FEW)
          faults.push(`reads ${name} while others are kept out of ${excluded.map((table) => table.name).join(', ')}`);
        if (writes - was.writes > FEW) faults.push(`changes the rows of ${name}`);
      }
      throw UNDONE;
    })
    .catch((error: unknown) => {
      if (error !== UNDONE) throw error;
    });
  return faults;
}
