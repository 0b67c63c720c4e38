import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Database, migrate, openDatabase } from '../../../../src/platform/db/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';

jest.setTimeout(120_000);
const INDEX = '--! concurrently\ncreate index concurrently if not exists crowded_x on crowded (x);\n';

let database: TestDatabase;
let sql: Database;
let folder: string;
let replicas: Database[];
/** What each replica has sent. */
let sent: string[][];
const dir = () => pathToFileURL(`${folder}/`);
const put = (file: string, text: string) => writeFile(join(folder, file), text);

beforeAll(async () => {
  database = await testDatabase({ connections: 8 });
  ({ sql } = database);
  sent = [[], []];
  replicas = sent.map((texts) =>
    openDatabase({ url: database.url, connections: 1, onStatement: (text) => void texts.push(text) }),
  );
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  await sql.unsafe('drop table if exists migrations, crowded, seen');
  await sql.unsafe('create table crowded as select n as x from generate_series(1, 10) n');
  for (const texts of sent) texts.length = 0;
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end({ timeout: 1 })));
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** A transaction of somebody else that has done this, until it is told to end. */
async function foreign(statement: string) {
  const other = openDatabase({ url: database.url, connections: 1, applicationName: 'somebody-else' });
  const [begun, end] = [gate(), gate()];
  let pid = 0;
  const ended = other.begin(async (tx) => {
    await tx.unsafe(statement);
    [{ pid }] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`;
    begun.open();
    await end.passed;
  });
  await Promise.race([begun.passed, ended]);
  return {
    pid,
    async [Symbol.asyncDispose]() {
      end.open();
      await ended;
      await other.end({ timeout: 1 });
    },
  };
}
const indexes = () => sql<{ name: string; valid: boolean }[]>`
  select indexrelid::regclass::text as name, indisvalid as valid
  from pg_index
  where indrelid = 'crowded'::regclass`;
const isBuilding = () => eventually('the index is being built', async () => (await indexes()).length === 1);

describe('a migration that waits for a table', () => {
  test('gives the table up, so that others go on, and is tried again until it has it', async () => {
    await put('000001_wide.sql', 'alter table crowded add column y int;');
    const waits: number[] = [];
    let migrated: Promise<string[]>;
    {
      await using reader = await foreign('lock table crowded in access share mode');
      migrated = migrate(replicas[0]!, {
        dir: dir(),
        pauseMs: 10,
        onWait: ({ tries, holders }) => {
          waits.push(tries);
          expect(holders.map(({ pid }) => pid)).toEqual([reader.pid]);
        },
      });
      await eventually('the migration waits', async () => (await waitingOnLock(sql, 'alter table crowded')) === 1);
      // as many reads as tries: each one waits behind the migration, and is answered when that gives up
      for (const tries of [1, 2, 3]) {
        await sql`select count(*) from crowded`;
        await eventually('it was given up', () => waits.length >= tries);
      }
    }
    expect(await migrated).toEqual(['000001_wide.sql']);
    expect(waits).toEqual(waits.map((_, n) => n + 1));
  });

  test('is given up for good after its tries, and the error names who held the lock', async () => {
    await put('000001_wide.sql', 'create table seen (x int); alter table crowded add column y int;');
    await using reader = await foreign('select from crowded');
    await expect(migrate(replicas[0]!, { dir: dir(), tries: 2, pauseMs: 10 })).rejects.toThrow(
      new RegExp(
        String.raw`Migration 000001_wide\.sql did not get its locks in 2 tries\. In its way: process ${reader.pid} \(somebody-else, idle in transaction, transaction of \d+ s\)\.`,
      ),
    );
    expect(await sql`select to_regclass('seen')::text as seen`).toEqual([{ seen: null }]);
  });

  test('waits longer than deadlock_timeout for the lock of a vacuum, which Postgres then cancels', async () => {
    await put(
      '000001_seen.sql',
      "create table seen as select current_setting('lock_timeout') as wait; alter table crowded add column y int;",
    );
    const given = gate();
    let migrated: Promise<string[]>;
    {
      await using _ = await foreign('lock table crowded in share update exclusive mode');
      migrated = migrate(replicas[0]!, { dir: dir(), pauseMs: 10, onWait: () => given.open() });
      await given.passed;
    }
    await migrated;
    expect(await sql`select wait from seen`).toEqual([{ wait: '1200ms' }]);
  });
});

describe('a file that begins with --! concurrently', () => {
  test('builds and drops indexes, and holds nothing else', async () => {
    await put(
      '000001_index.sql',
      `${INDEX}-- one more\ncreate unique index concurrently if not exists "x" on crowded (x);`,
    );
    await expect(migrate(sql, { dir: dir() })).rejects.toThrow(
      'Migration 000001_index.sql begins with --! concurrently',
    );
    for (const statement of [
      'create index concurrently crowded_y on crowded (x)',
      'create index if not exists crowded_y on crowded (x)',
      'alter table crowded add column y int',
      'drop index if exists crowded_x',
      'insert into crowded values (1)',
    ]) {
      await put('000001_index.sql', `${INDEX}${statement};`);
      await expect(migrate(sql, { dir: dir() })).rejects.toThrow(`It has: ${statement}`);
    }
    expect(await indexes()).toEqual([]);
    await put(
      '000001_index.sql',
      "--! concurrently\ncreate index concurrently if not exists a on crowded (x) where x::text <> ';';",
    );
    await put('000002_index.sql', `${INDEX}drop index concurrently if exists a;`);
    expect(await migrate(sql, { dir: dir() })).toEqual(['000001_index.sql', '000002_index.sql']);
    expect(await indexes()).toEqual([{ name: 'crowded_x', valid: true }]);
    expect(await migrate(sql, { dir: dir() })).toEqual([]);
  });

  test('is asked for where a file without the mark builds an index concurrently', async () => {
    await put('000001_index.sql', INDEX.replace('--! concurrently', '-- an index'));
    await expect(migrate(sql, { dir: dir() })).rejects.toThrow('put it into a file that begins with --! concurrently');
  });

  test('waits for others longer than the limits of the role, and tells whom it waits for', async () => {
    await put('000001_index.sql', INDEX);
    const name = new URL(database.url).pathname.slice(1);
    await sql.unsafe(`alter database ${name} set lock_timeout = 50; alter database ${name} set statement_timeout = 50`);
    const told: unknown[] = [];
    let migrated: Promise<string[]>;
    {
      await using writer = await foreign('insert into crowded values (11)');
      migrated = migrate(replicas[0]!, {
        dir: dir(),
        onWait: ({ tries, holders }) => told.push(tries, ...holders.map(({ pid }) => pid)),
      });
      await eventually('it is told', () => told.length > 0);
      expect(told).toEqual([1, writer.pid]);
      await sql.unsafe(`alter database ${name} reset lock_timeout; alter database ${name} reset statement_timeout`);
    }
    expect(await migrated).toEqual(['000001_index.sql']);
    expect(told).toHaveLength(2);
  });

  test('is built by one of two replicas while the other one waits, without a deadlock between them', async () => {
    await put('000001_index.sql', INDEX);
    let both: Promise<string[]>[];
    {
      await using _ = await foreign('insert into crowded values (11)');
      both = [migrate(replicas[0]!, { dir: dir() })];
      await isBuilding();
      both.push(migrate(replicas[1]!, { dir: dir() }));
      await eventually('the second one waits', () => sent[1]!.some((text) => text.includes('advisory_lock')));
    }
    expect(await Promise.all(both)).toEqual([['000001_index.sql'], []]);
    expect(sent.flat().filter((text) => /^(create|drop) index/.test(text))).toHaveLength(1);
    expect(await indexes()).toEqual([{ name: 'crowded_x', valid: true }]);
  });

  test('is built anew when the session that built it was cut off', async () => {
    await put('000001_index.sql', INDEX);
    {
      await using _ = await foreign('insert into crowded values (11)');
      const cut = migrate(replicas[0]!, { dir: dir() });
      const failed = expect(cut).rejects.toThrow(
        'Migration 000001_index.sql failed; the next start builds what is missing',
      );
      await isBuilding();
      const ended = await sql`
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where datname = current_database() and query like 'create index concurrently%'`;
      expect(ended).toHaveLength(1);
      await failed;
      expect(await indexes()).toEqual([{ name: 'crowded_x', valid: false }]);
    }
    expect(await migrate(replicas[1]!, { dir: dir() })).toEqual(['000001_index.sql']);
    expect(sent[1]!.filter((text) => /^(create|drop) index/.test(text)).map((text) => text.slice(0, 4))).toEqual([
      'drop',
      'crea',
    ]);
    expect(await indexes()).toEqual([{ name: 'crowded_x', valid: true }]);
  });

  test('is recorded by another replica when the process that built it was killed', async () => {
    await put('000001_index.sql', INDEX);
    const module = pathToFileURL(join(import.meta.dirname, '../../../../src/platform/db/index.ts')).href;
    const script = `import { migrate, openDatabase } from '${module}';
      await migrate(openDatabase({ url: '${database.url}' }), { dir: new URL('${dir().href}') });`;
    const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], { stdio: 'inherit' });
    let other: Promise<string[]>;
    {
      await using _ = await foreign('insert into crowded values (11)');
      await isBuilding();
      const gone = new Promise((done) => child.once('exit', done));
      child.kill('SIGKILL');
      await gone;
      other = migrate(replicas[1]!, { dir: dir() });
      await eventually('the other one waits', () => sent[1]!.some((text) => text.includes('advisory_lock')));
    }
    expect(await other).toEqual(['000001_index.sql']);
    expect(await indexes()).toEqual([{ name: 'crowded_x', valid: true }]);
    expect(await sql`select name from migrations`).toEqual([{ name: '000001_index.sql' }]);
  });
});
