import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { type Database, openSession } from './client.ts';
import { dropsData } from './destructive.ts';

const LOCK = 7_261_944;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

interface Options {
  dir?: URL;
  allowDestructive?: boolean;
  /**
   * Told of migrations that are applied there and unknown here: a newer version was. The one before a version runs on
   * its database.
   */
  onNewer?: (names: readonly string[]) => void;
}

const BEGIN = 'begin;\n';

/** The words of Postgres, with the line that it means. */
function reasonOf(error: unknown, text: string): string {
  const { message, code, detail, position } = error as {
    message?: string;
    code?: string;
    detail?: string;
    position?: string;
  };
  const at = Number(position) - BEGIN.length - 1;
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

/** Applies every migration not yet recorded, in file order. Many replicas may call it at once. */
export async function migrate(
  sql: Database,
  { dir = new URL('./migrations/', import.meta.url), allowDestructive = false, onNewer }: Options = {},
): Promise<string[]> {
  const files = (await readdir(dir)).filter((file) => /^\d{6}_[a-z0-9_]+\.sql$/.test(file)).sort();
  judgeNumbers(files);
  const connection = openSession(sql, () => {}); // one session, for its lock
  try {
    await connection`select pg_advisory_lock(${LOCK})`;
    await connection`
      create table if not exists migrations (
        name text primary key,
        sha256 text not null,
        applied_at timestamptz not null default now()
      )`;
    const done = new Map(
      (await connection<{ name: string; sha256: string }[]>`select name, sha256 from migrations`).map((row) => [
        row.name,
        row.sha256,
      ]),
    );

    const newer = [...done.keys()].filter((name) => !files.includes(name));
    if (newer.length > 0) onNewer?.(newer);
    const applied: string[] = [];
    for (const file of files) {
      const text = await readFile(new URL(file, dir), 'utf8');
      const known = done.get(file);
      if (known === sha256(text)) continue;
      if (known) throw new Error(`Migration ${file} was edited after it ran here. Put the change into a new file.`);
      const isMarked = text.startsWith('--! destructive');
      if (!isMarked && dropsData(text))
        throw new Error(`Migration ${file} drops data and does not say so: begin it with --! destructive.`);
      if (isMarked && !allowDestructive)
        throw new Error(`Migration ${file} drops data: back up, then set ALLOW_DESTRUCTIVE_SCHEMA=true.`);
      await connection
        .unsafe(
          `${BEGIN}${text}\n;insert into migrations (name, sha256) values ('${file}', '${sha256(text)}');\ncommit;`,
        )
        .catch(async (cause) => {
          await connection`rollback`;
          throw new Error(`Migration ${file} failed and was rolled back: ${reasonOf(cause, text)}`, { cause });
        });
      applied.push(file);
    }
    return applied;
  } finally {
    await connection`select pg_advisory_unlock(${LOCK})`;
    await connection.end({ timeout: 5 });
  }
}
