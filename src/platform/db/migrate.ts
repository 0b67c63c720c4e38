import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { systemClock } from '../kernel/index.ts';
import type { Database } from './client.ts';
import { type IndexStatement, indexStatementsOf } from './concurrent-indexes.ts';
import { dropsData } from './destructive.ts';
import { type LockHolder, lockHoldersText, watchLockHolders } from './lock-holders.ts';
import { type MigrationSession, openMigrationSession } from './migration-session.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

export interface MigrateOptions {
  dir?: URL;
  allowDestructive?: boolean;
  /**
   * Told of migrations that are applied there and unknown here: a newer version was. The one before a version runs on
   * its database.
   */
  onNewer?: (names: readonly string[]) => void;
  /** Told of a migration that did not get its locks and is tried again, or that has waited for seconds. */
  onWait?: (wait: { migration: string; tries: number; holders: readonly LockHolder[] }) => void;
  /** How often a migration is tried that does not get its locks. */
  tries?: number;
  /** Between two tries: what waited behind the migration goes on meanwhile. */
  pauseMs?: number;
}

/**
 * Whoever wants a table waits behind a migration that waits for it, so that one gives up within a second. Only the
 * second wait, when a vacuum is in the way, is longer: Postgres cancels its own vacuums for whoever has waited for
 * `deadlock_timeout`.
 */
const BEGIN = 'begin;\nset local lock_timeout = 900;\n';
const BEGIN_PAST_VACUUM = `begin;
select set_config('lock_timeout', (setting::int + 200)::text, true) from pg_settings where name = 'deadlock_timeout';
`;
/** SQLSTATE 55P03, 40P01: a lock was not to be had in time, or only by ending somebody else's wait. */
const isContended = (error: unknown) => ['55P03', '40P01'].includes((error as { code?: string }).code ?? '');

/** The words of Postgres, with the line that it means where the text was sent behind `begin`. */
function reasonOf(error: unknown, text: string, begin: string): string {
  const { message, code, detail, position } = error as {
    message?: string;
    code?: string;
    detail?: string;
    position?: string;
  };
  const at = Number(position) - begin.length - 1;
  const before = text.slice(0, Math.max(at, 0)).split('\n').length;
  const where =
    at >= 0 && at < text.length ? `, line ${before}: ${text.split('\n')[before - 1]!.trim().slice(0, 200)}` : '';
  return `${message || String(error)}${code ? ` (${code})` : ''}${detail ? `. ${detail}` : ''}${where}`;
}

/** Refuses what a file must not be, before anything runs. */
function judgeNumbers(files: readonly string[]): void {
  const twice = files.filter((file) => files.some((other) => other !== file && other.slice(0, 6) === file.slice(0, 6)));
  if (twice.length > 0)
    throw new Error(
      `Two migrations have one number: ${twice.join(', ')}. Give the newer one the next number that is free.`,
    );
}

/** The text of a file that is to run, after its marks were judged. */
function judgeText(file: string, text: string, allowDestructive: boolean): IndexStatement[] | undefined {
  const isMarked = text.startsWith('--! destructive');
  if (!isMarked && dropsData(text))
    throw new Error(`Migration ${file} drops data and does not say so: begin it with --! destructive.`);
  if (isMarked && !allowDestructive)
    throw new Error(`Migration ${file} drops data: back up, then set ALLOW_DESTRUCTIVE_SCHEMA=true.`);
  return indexStatementsOf(file, text);
}

/** In one transaction with its record. */
async function runInTransaction(
  { connection }: MigrationSession,
  file: string,
  text: string,
  begin: string,
): Promise<void> {
  const record = `insert into migrations (name, sha256) values ('${file}', '${sha256(text)}')`;
  try {
    await connection.unsafe(`${begin}${text}\n;${record};\ncommit;`);
  } catch (error) {
    await connection`rollback`.catch(() => undefined);
    throw error;
  }
}

/**
 * One statement after another, and then the record: what was cut off runs again from the first. An index that is
 * invalid was left by a build that broke off, as nobody else builds while this session has the lock.
 */
async function runConcurrently(
  { connection, checkHeld }: MigrationSession,
  file: string,
  text: string,
  statements: readonly IndexStatement[],
): Promise<void> {
  for (const { text: statement, builds } of statements) {
    const broken =
      builds !== undefined &&
      (await connection`select from pg_index where indexrelid = to_regclass(${builds}) and not indisvalid`).count > 0;
    checkHeld();
    if (broken) await connection.unsafe(`drop index concurrently if exists ${builds}`);
    checkHeld();
    await connection.unsafe(statement);
  }
  checkHeld();
  await connection`insert into migrations (name, sha256) values (${file}, ${sha256(text)})`;
}

/** Runs a file, again and again while others hold what it needs. */
async function apply(
  sql: Database,
  session: MigrationSession,
  { file, text, indexes }: { file: string; text: string; indexes: IndexStatement[] | undefined },
  { onWait, tries = 30, pauseMs = 1_000 }: MigrateOptions,
): Promise<void> {
  let begin = BEGIN;
  for (let n = 1; ; n += 1) {
    session.checkHeld();
    await using watch = watchLockHolders(sql, session.pid, (holders) =>
      onWait?.({ migration: file, tries: n, holders }),
    );
    try {
      await (indexes ? runConcurrently(session, file, text, indexes) : runInTransaction(session, file, text, begin));
      return;
    } catch (cause) {
      const holders = watch.last();
      if (!isContended(cause))
        throw new Error(
          indexes
            ? `Migration ${file} failed; the next start builds what is missing: ${reasonOf(cause, '', '')}`
            : `Migration ${file} failed and was rolled back: ${reasonOf(cause, text, begin)}`,
          { cause },
        );
      if (n === tries)
        throw new Error(
          `Migration ${file} did not get its locks in ${n} tries. ${lockHoldersText(holders)}. ` +
            'Wait until they end, or end them, and start again.',
          { cause },
        );
      onWait?.({ migration: file, tries: n, holders });
      begin = holders.some(({ isVacuum }) => isVacuum) ? BEGIN_PAST_VACUUM : BEGIN;
    }
    await systemClock.sleep(pauseMs);
  }
}

/** Applies every migration not yet recorded, in file order. Many replicas may call it at once. */
export async function migrate(sql: Database, options: MigrateOptions = {}): Promise<string[]> {
  const { dir = new URL('./migrations/', import.meta.url), allowDestructive = false, onNewer } = options;
  const files = (await readdir(dir)).filter((file) => /^\d{6}_[a-z0-9_]+\.sql$/.test(file)).sort();
  judgeNumbers(files);
  await using session = await openMigrationSession(sql);
  await session.connection`
    create table if not exists migrations (
      name text primary key,
      sha256 text not null,
      applied_at timestamptz not null default now()
    )`;
  const recorded = await session.connection<{ name: string; sha256: string }[]>`select name, sha256 from migrations`;
  const done = new Map(recorded.map((row) => [row.name, row.sha256]));

  const newer = [...done.keys()].filter((name) => !files.includes(name));
  if (newer.length > 0) onNewer?.(newer);
  const applied: string[] = [];
  for (const file of files) {
    const text = await readFile(new URL(file, dir), 'utf8');
    const known = done.get(file);
    if (known === sha256(text)) continue;
    if (known) throw new Error(`Migration ${file} was edited after it ran here. Put the change into a new file.`);
    const indexes = judgeText(file, text, allowDestructive);
    await apply(sql, session, { file, text, indexes }, options);
    applied.push(file);
  }
  return applied;
}
