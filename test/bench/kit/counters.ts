import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/index.ts';

export interface Counts {
  commits: number;
  syncs: number;
}

async function read(sql: Database): Promise<Counts> {
  const [row] = await sql<Counts[]>`
    select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as commits,
      -- one number is given to each transaction that writes, and seen at once
      (select coalesce(sum(fsyncs), 0)::float8 from pg_stat_io where object = 'wal') as syncs`;
  return row!;
}

/** What a database does by itself, a millisecond, while nothing is asked of it. */
export async function idleRate(sql: Database, restMs: number): Promise<Counts> {
  await sleep(restMs);
  const before = await read(sql);
  await sleep(restMs);
  const after = await read(sql);
  return { commits: (after.commits - before.commits) / restMs, syncs: (after.syncs - before.syncs) / restMs };
}

/**
 * Transactions that wrote and log syncs of the server while `work` runs, less what the same time costs at rest. Syncs
 * are told up to a second late, so those of the last moments may be missing.
 */
export async function counted<T>(
  sql: Database,
  idle: Counts,
  restMs: number,
  work: () => Promise<T>,
): Promise<{ result: T } & Counts> {
  const before = await read(sql);
  const started = performance.now();
  const result = await work();
  await sleep(restMs);
  const after = await read(sql);
  const ms = performance.now() - started;
  return {
    result,
    commits: Math.max(0, after.commits - before.commits - idle.commits * ms),
    syncs: Math.max(0, after.syncs - before.syncs - idle.syncs * ms),
  };
}
