import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Fragment, prepared, type Sql } from '../../../../src/platform/db/index.ts';
import { type TestDatabase, testDatabase } from '../../../support/wire/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => await database[Symbol.asyncDispose]());

interface Values {
  ids: string[];
  since: Date;
  word: string | null;
}
interface Row {
  id: string;
  isLater: boolean;
  word: string | null;
}
const FIRST = '00000000-0000-4000-8000-000000000001';
const SECOND = '00000000-0000-4000-8000-000000000002';

const named = (sql: Sql, name: string): Fragment => sql`t.${sql(name)}`;
const compose = (sql: Sql, value: (name: keyof Values) => Fragment): Fragment => sql`
  with t as (select id from unnest(${value('ids')}::uuid[]) as t (id))
  select ${sql.unsafe('t.id')}, now() > ${value('since')} as "isLater", ${value('word')}::text as word
  from t
  where ${named(sql, 'id')} is not null and ${'kept'} = 'kept'
  order by ${named(sql, 'id')}`;

test('a prepared statement is composed once, and each execution brings its values', async () => {
  const { sql } = database;
  let composed = 0;
  const statement = prepared<Values, Row>((...args) => {
    composed += 1;
    return compose(...args);
  });
  expect(await statement(sql, { ids: [SECOND, FIRST], since: new Date(0), word: 'a' })).toEqual([
    { id: FIRST, isLater: true, word: 'a' },
    { id: SECOND, isLater: true, word: 'a' },
  ]);
  const inTransaction = await sql.begin((tx) =>
    statement(tx, { ids: [FIRST], since: new Date('9999-01-01'), word: null }),
  );
  expect(inTransaction).toEqual([{ id: FIRST, isLater: false, word: null }]);
  expect(composed).toBe(1);
});

test('a prepared statement sends the text that its fragments send', async () => {
  const { sql, statements } = database;
  const values: Values = { ids: [FIRST], since: new Date(0), word: 'b' };
  statements.length = 0;
  await compose(sql, (name) => values[name] as unknown as Fragment);
  await prepared<Values, Row>(compose)(sql, values);
  expect(statements).toHaveLength(2);
  expect(statements[1]).toBe(statements[0]);
});

test('a list of fragments is refused, as values in it would not be found', () => {
  const { sql } = database;
  const statement = prepared<Pick<Values, 'word'>, Row>(
    (one, value) => one`select ${[one`${value('word')}::text`, one`as word`] as unknown as Fragment}`,
  );
  expect(() => statement(sql, { word: 'a' })).toThrow('a list of fragments cannot be composed once');
});

test('a prepared statement may be a part of another one', async () => {
  const { sql } = database;
  const statement = prepared<Values, Row>(compose);
  const part = (word: string) => statement(sql, { ids: [FIRST], since: new Date(0), word });
  const rows = await sql<{ first: string; second: string }[]>`
    select a.word as first, b.word as second
    from (${part('a')}) a, (${part('b')}) b`;
  expect(rows).toEqual([{ first: 'a', second: 'b' }]);
});
