import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Database, migrate, openDatabase } from '../../../../src/platform/db/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';

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

test('a failed migration leaves nothing behind, and its error names the file, the line and the reason of Postgres', async () => {
  await put('000003_third.sql', 'create table third (x int); insert into nowhere values (1);');
  await expect(migrate(replicas[0]!, { dir: dir() })).rejects.toThrow(
    'Migration 000003_third.sql failed and was rolled back: relation "nowhere" does not exist (42P01), line 1: create table third (x int); insert into nowhere values (1);',
  );
  expect(await database.sql`select to_regclass('third')::text as third`).toEqual([{ third: null }]);
});

test('a migration that drops data needs ALLOW_DESTRUCTIVE_SCHEMA [DE36]', async () => {
  await put('000003_third.sql', '--! destructive\ndrop table first;');
  await expect(migrate(replicas[1]!, { dir: dir() })).rejects.toThrow('ALLOW_DESTRUCTIVE_SCHEMA');
  expect(await migrate(replicas[2]!, { dir: dir(), allowDestructive: true })).toEqual(['000003_third.sql']);
});

test('a statement that drops data is refused in a file that is not marked as destructive', async () => {
  for (const statement of [
    'drop table first;',
    'alter table first\n  drop column x;',
    'alter table first drop x;',
    'truncate first;',
    'delete from first;',
    'DROP SCHEMA public CASCADE;',
  ]) {
    await put('000004_fourth.sql', `-- a comment\n${statement}`);
    await expect(migrate(replicas[1]!, { dir: dir(), allowDestructive: true })).rejects.toThrow(
      'Migration 000004_fourth.sql drops data and does not say so: begin it with --! destructive',
    );
  }
  for (const statement of [
    'drop index if exists nowhere;',
    'create table fourth (x int primary key, constraint positive check (x > 0)); alter table fourth drop constraint positive, alter column x drop default;',
    "-- drop table first;\ncreate table fifth (x text default 'drop table first');",
    'create function gone() returns void language sql as $$ delete from fourth $$;',
  ]) {
    await put('000004_fourth.sql', statement);
    expect(await migrate(replicas[1]!, { dir: dir() })).toEqual(['000004_fourth.sql']);
    await database.sql`delete from migrations where name = '000004_fourth.sql'`;
  }
  await rm(join(folder, '000004_fourth.sql'));
});

test('two migrations with one number are refused before any of them runs', async () => {
  await put('000005_one.sql', 'create table one (x int);');
  await put('000005_two.sql', 'create table two (x int);');
  await expect(migrate(replicas[1]!, { dir: dir() })).rejects.toThrow(
    'Two migrations have one number: 000005_one.sql, 000005_two.sql',
  );
  expect(await database.sql`select to_regclass('one')::text as one`).toEqual([{ one: null }]);
  await Promise.all(['000005_one.sql', '000005_two.sql'].map((file) => rm(join(folder, file))));
});

test('a database migrated by a newer version is used, and its unknown migrations are reported', async () => {
  await database.sql`insert into migrations (name, sha256) values ('000099_future.sql', 'x')`;
  const newer: string[][] = [];
  expect(await migrate(replicas[4]!, { dir: dir(), onNewer: (names) => newer.push([...names]) })).toEqual([]);
  expect(newer).toEqual([['000099_future.sql']]);
  await database.sql`delete from migrations where name = '000099_future.sql'`;
});

test('a migration edited after it was applied is refused, and no lock is left', async () => {
  await put('000001_first.sql', 'create table first (x bigint);');
  await expect(migrate(replicas[3]!, { dir: dir() })).rejects.toThrow('edited after it ran');
  expect(
    await database.sql`
      select count(*)::int as locks
      from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  ).toEqual([{ locks: 0 }]);
});
