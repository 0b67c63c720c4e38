import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { type Database, openSession } from './client.ts';

const LOCK = 7_261_944;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

interface Options {
  dir?: URL;
  allowDestructive?: boolean;
}

/** Applies every migration not yet recorded, in file order. Many replicas may call it at once. */
export async function migrate(sql: Database, { dir = new URL('./migrations/', import.meta.url), allowDestructive = false }: Options = {}): Promise<string[]> {
  const files = (await readdir(dir)).filter((file) => /^\d{6}_[a-z0-9_]+\.sql$/.test(file)).sort();
  const connection = openSession(sql, () => {}); // one session, for its lock
  try {
    await connection`select pg_advisory_lock(${LOCK})`;
    await connection`create table if not exists migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now())`;
    const done = new Map((await connection<{ name: string; sha256: string }[]>`select name, sha256 from migrations`).map((row) => [row.name, row.sha256]));

    const applied: string[] = [];
    for (const file of files) {
      const text = await readFile(new URL(file, dir), 'utf8');
      const known = done.get(file);
      if (known === sha256(text)) continue;
      if (known) throw new Error(`Migration ${file} was edited after it ran here. Put the change into a new file.`);
      if (text.startsWith('--! destructive') && !allowDestructive)
        throw new Error(`Migration ${file} drops data: back up, then set ALLOW_DESTRUCTIVE_SCHEMA=true.`);
      await connection
        .unsafe(`begin;\n${text}\n;insert into migrations (name, sha256) values ('${file}', '${sha256(text)}');\ncommit;`)
        .catch(async (cause) => {
          await connection`rollback`;
          throw new Error(`Migration ${file} failed and was rolled back`, { cause });
        });
      applied.push(file);
    }
    return applied;
  } finally {
    await connection`select pg_advisory_unlock(${LOCK})`;
    await connection.end({ timeout: 5 });
  }
}
