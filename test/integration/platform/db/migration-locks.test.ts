import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrate } from '../../../../src/platform/db/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { fillTables } from '../../../support/wire/database/filled-tables.ts';
import { FIRST_RELEASE, judgeMigration } from '../../../support/wire/database/judged-migration.ts';

jest.setTimeout(120_000);
const MIGRATIONS = join(import.meta.dirname, '../../../../src/platform/db/migrations');

describe('a migration after the first release', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase({ connections: 1 });
    await database.sql.unsafe(`
      create table owners (id int primary key);
      create table things (id int primary key, owner_id int not null, name text, amount int);
      create table parts (id int primary key, amount int, constraint parts_amount check (amount is not null));
      alter table things add constraint things_amount check (amount > 0) not valid;
      alter table things add constraint things_owner foreign key (owner_id) references owners not valid;
      insert into owners select n from generate_series(1, 60) n;
      insert into things select n, n, 'thing', n from generate_series(1, 60) n;
      insert into parts select n, n from generate_series(1, 60) n;
      analyze owners, things, parts`);
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
  });
  const judged = (text: string) => judgeMigration(database.sql, '000999_example.sql', text);

  test.each([
    ['an index', 'create index things_name on things (name)', ['reads things while others are kept out of things']],
    [
      'a unique constraint',
      'alter table things add unique (name, id)',
      ['reads things while others are kept out of things'],
    ],
    [
      'another type',
      'alter table things alter column amount type bigint',
      ['rewrites things', 'reads things while others are kept out of things'],
    ],
    [
      'a default that differs from row to row',
      'alter table things add column key uuid default gen_random_uuid()',
      ['rewrites things', 'reads things while others are kept out of things'],
    ],
    [
      'a generated column',
      'alter table things add column twice int generated always as (amount * 2) stored',
      ['rewrites things', 'reads things while others are kept out of things'],
    ],
    [
      'not null without a check',
      'alter table things alter column amount set not null',
      ['reads things while others are kept out of things'],
    ],
    [
      'a check that is validated at once',
      'alter table things add check (id > 0)',
      ['reads things while others are kept out of things'],
    ],
    [
      'a reference that is validated at once',
      'alter table things add foreign key (id) references owners',
      [
        'reads owners while others are kept out of owners, things',
        'reads things while others are kept out of owners, things',
      ],
    ],
    [
      'a constraint and its validation in one file',
      `
      alter table things add constraint named check (name <> '') not valid;
      alter table things validate constraint named`,
      ['reads things while others are kept out of things'],
    ],
    ['an update of all rows', "update things set name = 'other'", ['changes the rows of things']],
    ['a deletion of all rows', 'delete from things', ['changes the rows of things']],
    [
      'a copy of rows while another table is kept',
      `
      alter table owners add column name text;
      create table copies as select * from things`,
      ['reads things while others are kept out of owners'],
    ],
  ])('is refused with %s', async (_, text, faults) => {
    expect(await judged(text)).toEqual(faults);
  });

  test.each([
    ['a column', 'alter table things add column note text'],
    ['a column with a constant default', 'alter table things add column count int not null default 0'],
    ['a column that refers to another table', 'alter table things add column other_id int references owners'],
    [
      'a new table with an index and a reference',
      `
      create table notes (id int primary key, owner_id int not null references owners);
      insert into notes select n, n from generate_series(1, 5) n;
      create index notes_owner on notes (owner_id)`,
    ],
    [
      'an index that is built concurrently',
      '--! concurrently\ncreate index concurrently if not exists things_name on things (name)',
    ],
    ['a check that is not validated', "alter table things add check (name <> '') not valid"],
    ['a reference that is not validated', 'alter table things add foreign key (id) references owners not valid'],
    ['the validation of a check', 'alter table things validate constraint things_amount'],
    ['the validation of a reference', 'alter table things validate constraint things_owner'],
    ['not null after a validated check', 'alter table parts alter column amount set not null'],
    ['a change of one row', "update things set name = 'other' where id = 7; alter table owners add column name text"],
    ['an index that is dropped', 'drop index if exists posts_group'],
    ['not null taken back', 'alter table things alter column owner_id drop not null'],
  ])('is accepted with %s', async (_, text) => {
    expect(await judged(text)).toEqual([]);
  });

  test('keeps nobody out of a table while it reads or changes rows, each file in turn', async () => {
    const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith('.sql')).toSorted();
    const later = files.filter((file) => Number(file.slice(0, 6)) > FIRST_RELEASE);
    const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
    await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
    const add = (file: string) => copyFile(join(MIGRATIONS, file), join(folder, file));
    const { sql } = database;
    const apply = () => migrate(sql, { dir: pathToFileURL(`${folder}/`), allowDestructive: true });

    await sql.unsafe('drop schema public cascade; create schema public');
    for (const file of files.filter((one) => !later.includes(one))) await add(file);
    await apply();
    expect(await fillTables(sql)).toEqual([]); // each table has rows to be read
    const faults: Record<string, string[]> = {};
    for (const file of later) {
      const found = await judgeMigration(sql, file, await readFile(join(MIGRATIONS, file), 'utf8'));
      if (found.length > 0) faults[file] = found;
      await add(file);
      await apply();
      await fillTables(sql);
    }
    expect(faults).toEqual({});
  });
});
