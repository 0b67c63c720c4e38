import { describe, expect, test } from '@jest/globals';
import { runEach } from './run-each.ts';

/** A queue in memory: what is done leaves it, what is bad stays at its head. */
function queueOf(bad: readonly number[], good: readonly number[]) {
  let due = [...bad, ...good];
  const failed: number[] = [];
  const check = (items: readonly number[]) => {
    if (items.some((item) => bad.includes(item))) throw new Error('bad');
    due = due.filter((one) => !items.includes(one));
    return Promise.resolve();
  };
  return {
    failed,
    due: () => due,
    parts: {
      find: (limit: number, tried: readonly number[]) =>
        Promise.resolve(due.filter((item) => !tried.includes(item)).slice(0, limit)),
      work: (item: number) => check([item]),
      failed: (_: unknown, item: number) => void failed.push(item),
    },
    together: check,
  };
}

describe('runEach', () => {
  test('does those behind rows that fail, though these fill a whole batch', async () => {
    const queue = queueOf([1, 2, 3], [4, 5, 6]);
    expect(await runEach(2, queue.parts)).toBe(2);
    expect([queue.due(), queue.failed]).toEqual([
      [1, 2, 3, 6],
      [1, 2, 3],
    ]);
  });

  test('does all in one commit, and one after another where that fails', async () => {
    const commits: (readonly number[])[] = [];
    const queue = queueOf([], [1, 2, 3]);
    const together = (items: readonly number[]) => (commits.push(items), queue.together(items));
    expect(await runEach(3, { ...queue.parts, together })).toBe(3);
    expect(commits).toEqual([[1, 2, 3]]);
    const other = queueOf([1], [2, 3]);
    expect(await runEach(3, { ...other.parts, together: other.together })).toBe(2);
    expect([other.due(), other.failed]).toEqual([[1], [1]]);
  });

  test('tries no row twice in a call, also one that stays due', async () => {
    const tried: number[] = [];
    const find = (_: number, before: readonly number[]) =>
      Promise.resolve([1, 2].filter((one) => !before.includes(one)));
    const work = (item: number) => Promise.resolve(tried.push(item));
    expect(await runEach(10, { find, work, failed: () => undefined, atOnce: 2 })).toBe(2);
    expect(tried).toEqual([1, 2]);
  });

  test('ends where so many fail that the rows are not at fault', async () => {
    const queue = queueOf(
      Array.from({ length: 3_000 }, (_, n) => n),
      [],
    );
    expect(await runEach(500, queue.parts)).toBe(0);
    expect(queue.failed).toHaveLength(1_000);
  });

  test('leaves the rest when the database is away', async () => {
    const work = () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
    const failed: number[] = [];
    const parts = {
      find: () => Promise.resolve([1, 2]),
      work,
      failed: (_: unknown, item: number) => failed.push(item),
    };
    await expect(runEach(2, { ...parts, failed: (...told) => void parts.failed(...told) })).rejects.toThrow('away');
    expect(failed).toEqual([]);
  });
});
