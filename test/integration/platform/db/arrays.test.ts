import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

const uuid = '01a1ff42-ead6-7fb2-9533-c2d93a239e82';
const odd = ['', 'a,b', '{"x"}', 'NULL', 'null', 'back\\slash', 'quo"te', ' space ', 'new\nline', 'ünï 😀', "o'clock"];

test('arrays of each type survive the way to the database and back unchanged', async () => {
  const [row] = await database.sql`
    select ${odd}::text[] as texts, ${[uuid]}::uuid[] as uuids, ${[1, -2]}::int[] as ints,
      ${['9007199254740993']}::bigint[] as bigints, ${[0.5, -1e9]}::float8[] as floats,
      array[true, false, null] as bools, array['\\x00ff'::bytea] as bytes,
      array['2026-01-01T00:00:00Z'::timestamptz] as times, array['{"a": [1, "b,c"]}'::jsonb] as jsons,
      ${[] as string[]}::text[] as none`;
  expect(row).toEqual({
    texts: odd,
    uuids: [uuid],
    ints: [1, -2],
    bigints: ['9007199254740993'],
    floats: [0.5, -1e9],
    bools: [true, false, null],
    bytes: [Buffer.from([0, 255])],
    times: [new Date('2026-01-01T00:00:00Z')],
    jsons: [{ a: [1, 'b,c'] }],
    none: [],
  });
});

test('a new connection sends no query before its first statement', async () => {
  database.statements.length = 0;
  await database.sql`select 1`;
  expect(database.statements).toEqual(['select 1']);
});
