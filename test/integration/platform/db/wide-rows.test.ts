import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Sql, wideRows } from '../../../../src/platform/db/index.ts';
import { type TestDatabase, testDatabase } from '../../../support/wire/database.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db[Symbol.asyncDispose]());

interface Row {
  n: number;
  text: string;
  at: Date;
  list: number[];
  nothing: null;
}
const statement = (sql: Sql) => sql<Row[]>`
  select n, repeat('x', 200) || n as text, timestamptz '2030-01-01Z' as at, json_build_array(n) as list,
    null as nothing
  from generate_series(1, ${50}::int) n`;

describe('wideRows', () => {
  test('answers what the statement answers', async () => {
    expect(await wideRows(statement(db.sql))).toEqual([...(await statement(db.sql))]);
    expect(await wideRows(db.sql`select 1 as one where false`)).toEqual([]);
    await expect(wideRows(db.sql`select 1 / 0`)).rejects.toThrow('division by zero');
  });

  test('keeps nothing of an answer over a young collection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (how?: { type: 'minor' }) => void;
    const used = () => getHeapSpaceStatistics().reduce((sum, space) => sum + space.space_used_size, 0);
    /** Bytes of each of so many answers that are still there, although nobody has them any more. */
    const keptOf = async (read: () => Promise<unknown>, reads = 100) => {
      for (let n = 0; n < reads; n += 1) await read(); // code and plans are made
      await new Promise(setImmediate);
      collect();
      const before = used();
      for (let n = 0; n < reads; n += 1) await read();
      await new Promise(setImmediate);
      collect({ type: 'minor' });
      collect({ type: 'minor' });
      return (used() - before) / reads;
    };
    expect(await keptOf(() => wideRows(statement(db.sql)))).toBeLessThan(10_000);
  });
});
