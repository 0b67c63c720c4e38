import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Database, migrate, openDatabase } from '../../src/db/index.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let folder: string;
let replicas: Database[];
const dir = () => pathToFileURL(`${folder}/`);
const put = (file: string, text: string) => writeFile(join(folder, file), text);

beforeAll(async () => {
  database = await testDatabase();
  await database.sql.unsafe('drop table migrations');
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  replicas = Array.from({ length: 8 }, () => openDatabase({ url: database.url, connections: 1 }));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end({ timeout: 1 })));
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

test('eight replicas that start together apply each migration once', async () => {
  await put('000001_first.sql', 'create table first (x int);');
  await put('000002_second.sql', 'insert into first values (1)');
  await put('notes.md', 'not a migration');
  const applied = await Promise.all(replicas.map((replica) => migrate(replica, { dir: dir() })));
  expect(applied.flat().sort()).toEqual(['000001_first.sql', '000002_second.sql']);
  expect(await database.sql`select x from first`).toEqual([{ x: 1 }]);
  expect(await migrate(replicas[0]!, { dir: dir() })).toEqual([]);
});

test('a migration that fails leaves nothing behind and names its file', async () => {
  await put('000003_third.sql', 'create table third (x int); insert into nowhere values (1);');
  await expect(migrate(replicas[0]!, { dir: dir() })).rejects.toThrow('000003_third.sql failed');
  expect(await database.sql`select to_regclass('third')::text as third`).toEqual([{ third: null }]);
});

test('a migration that drops data needs ALLOW_DESTRUCTIVE_SCHEMA [DE36]', async () => {
  await put('000003_third.sql', '--! destructive\ndrop table first;');
  await expect(migrate(replicas[1]!, { dir: dir() })).rejects.toThrow('ALLOW_DESTRUCTIVE_SCHEMA');
  expect(await migrate(replicas[2]!, { dir: dir(), allowDestructive: true })).toEqual(['000003_third.sql']);
});

test('a migration that was edited after it ran is refused, and no lock stays behind', async () => {
  await put('000001_first.sql', 'create table first (x bigint);');
  await expect(migrate(replicas[3]!, { dir: dir() })).rejects.toThrow('edited after it ran');
  expect(
    await database.sql`select count(*)::int as locks from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  ).toEqual([{ locks: 0 }]);
});
