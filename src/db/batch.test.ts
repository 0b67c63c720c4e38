import { expect, test } from '@jest/globals';
import { groupCommit } from './batch.ts';
import type { Sql } from './client.ts';

const sql = {} as Sql;

test('calls that meet while a statement is under way travel together, at most `max` of them', async () => {
  const sizes: number[] = [];
  let free = () => {};
  const double = groupCommit(
    async (_: Sql, rows: readonly number[]) => {
      sizes.push(rows.length);
      if (sizes.length === 1) await new Promise<void>((go) => (free = go));
      return rows.map((row) => (row === 7 ? new Error('seven') : row * 2));
    },
    { max: 4 },
  );
  const first = double(sql, 1);
  await new Promise((go) => setImmediate(go));
  const rest = Promise.allSettled([2, 3, 7, 5, 6, 8].map((row) => double(sql, row)));
  free();
  expect(await first).toBe(2);
  expect((await rest).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(sizes).toEqual([1, 4, 2]);
});

test.each([
  ['22P02', 4, ['fulfilled', 'rejected', 'fulfilled']],
  ['23505', 4, ['fulfilled', 'rejected', 'fulfilled']],
  ['CONNECTION_CLOSED', 1, ['rejected', 'rejected', 'rejected']],
])('after %s rows are tried singly only when the data was at fault', async (code, statements, outcome) => {
  let calls = 0;
  const write = groupCommit(async (_: Sql, rows: readonly number[]) => {
    calls += 1;
    if (rows.includes(7)) throw Object.assign(new Error(code), { code });
    return rows;
  });
  const told = await Promise.allSettled([1, 7, 3].map((row) => write(sql, row)));
  expect([calls, told.map(({ status }) => status)]).toEqual([statements, outcome]);
});
