import { expect, test } from '@jest/globals';
import { groupCommit, LOCKED } from './batch.ts';
import type { Sql } from './client.ts';

const sql = {} as Sql;

test('calls during a running statement travel together, at most `max` of them', async () => {
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
  expect((await rest).map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  expect(sizes).toEqual([1, 4, 2]);
});

test.each([
  ['22P02', 4, ['fulfilled', 'rejected', 'fulfilled']],
  ['23505', 4, ['fulfilled', 'rejected', 'fulfilled']],
  ['CONNECTION_CLOSED', 1, ['rejected', 'rejected', 'rejected']],
])('a batch that fails with %s is repeated row by row only for a data error', async (code, statements, outcome) => {
  let calls = 0;
  const write = groupCommit(async (_: Sql, rows: readonly number[]) => {
    calls += 1;
    if (rows.includes(7)) throw Object.assign(new Error(code), { code });
    return rows;
  });
  const told = await Promise.allSettled([1, 7, 3].map((row) => write(sql, row)));
  expect([calls, told.map(({ status }) => status)]).toEqual([statements, outcome]);
});

test('a data error in a transaction fails every call unchanged, since the transaction is aborted', async () => {
  let calls = 0;
  const transaction = { savepoint() {} } as unknown as Sql;
  const write = groupCommit(async (_: Sql, rows: readonly number[]) => {
    calls += 1;
    return rows.length > 0
      ? Promise.reject(Object.assign(new Error(), { code: calls === 1 ? '23505' : '25P02' }))
      : rows;
  });
  const told = await Promise.allSettled([1, 7].map((row) => write(transaction, row)));
  expect([calls, told]).toMatchObject([1, [1, 7].map(() => ({ status: 'rejected', reason: { code: '23505' } }))]);
});

test('a locked row is retried by itself, and holds up none of the others', async () => {
  const batches: (readonly number[])[] = [];
  let locked = true;
  const write = groupCommit(async (_: Sql, rows: readonly number[]) => {
    batches.push(rows);
    return rows.map((row) => (row === 7 && locked ? LOCKED : row));
  });
  const seven = write(sql, 7);
  expect(await Promise.all([1, 2].map((row) => write(sql, row)))).toEqual([1, 2]);
  expect(await write(sql, 3)).toBe(3);
  locked = false;
  expect(await seven).toBe(7);
  expect(batches[0]).toEqual([7, 1, 2]);
  expect(batches.at(-1)).toEqual([7]);
});

test('a statement stays within its size, with one row at least, and owners take turns', async () => {
  const batches: (readonly string[])[] = [];
  const write = groupCommit(
    async (_: Sql, rows: readonly string[]) => {
      batches.push(rows);
      return rows;
    },
    { weigh: (row) => row.length, heaviest: 10, ownerOf: (row) => row[0]! },
  );
  const rows = ['aaaaaa', 'aaaaa', 'aaaaaaaaaaaaaaa', 'bb', 'cc'];
  expect(await Promise.all(rows.map((row) => write(sql, row)))).toEqual(rows);
  expect(batches).toEqual([['aaaaaa', 'bb', 'cc'], ['aaaaa'], ['aaaaaaaaaaaaaaa']]);
});

test('calls that nobody waits for are gathered for a while', async () => {
  const batches: (readonly number[])[] = [];
  const waits: { ms: number; end(): void }[] = [];
  const write = groupCommit(
    async (_: Sql, rows: readonly number[]) => {
      batches.push(rows);
      return rows;
    },
    { gatherMs: 20, clock: { sleep: (ms) => new Promise((end) => waits.push({ ms, end })) } },
  );
  const told = [];
  for (const row of [1, 2, 3]) {
    told.push(write(sql, row));
    await new Promise((go) => setImmediate(go));
  }
  expect([batches, waits.map(({ ms }) => ms)]).toEqual([[], [20]]);
  waits[0]!.end();
  expect([await Promise.all(told), batches]).toEqual([[1, 2, 3], [[1, 2, 3]]]);
});
