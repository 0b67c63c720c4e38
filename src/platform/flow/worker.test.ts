import { expect, test } from '@jest/globals';
import { systemClock } from '../kernel/clock.ts';
import { startWorker, type WorkerOptions } from './worker.ts';

/** A queue of numbers whose work ends when the test says so. */
function queueOf(...due: number[]) {
  const ends = new Map<number, (error?: Error) => void>();
  const claims: number[] = [];
  const failed: unknown[] = [];
  const worker = (more: Partial<WorkerOptions<number>> = {}) =>
    startWorker<number>({
      clock: systemClock,
      concurrency: 2,
      restMs: 1,
      claim: async (limit) => {
        claims.push(limit);
        return due.splice(0, limit);
      },
      work: (row) => new Promise((resolve, reject) => ends.set(row, (error) => (error ? reject(error) : resolve()))),
      onWorkError: (error, row) => failed.push([row, error]),
      onClaimError: (error) => failed.push(error),
      ...more,
    });
  return { due, ends, claims, failed, worker };
}
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((look) => setTimeout(look, 1));
}

test('the worker claims no more than it has room for, and fills a free place at once', async () => {
  const { ends, claims, worker } = queueOf(1, 2, 3);
  await using _worker = worker();
  await until(() => ends.size === 2);
  expect(claims).toEqual([2]);
  ends.get(1)!();
  await until(() => ends.has(3));
  expect(claims).toEqual([2, 1]);
  for (const end of ends.values()) end();
});

test('a job that throws is reported with its row and frees its place', async () => {
  const { ends, failed, worker } = queueOf(1, 2, 3);
  await using _worker = worker();
  await until(() => ends.size === 2);
  const error = new Error('no');
  ends.get(2)!(error);
  await until(() => ends.has(3));
  expect(failed).toEqual([[2, error]]);
  for (const end of ends.values()) end();
});

test('a failed claim is reported and repeated', async () => {
  const { due, ends, failed, worker } = queueOf(1);
  let claims = 0;
  await using _worker = worker({
    clock: { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 1), signal) },
    claim: async (limit) => {
      if (claims++ === 0) throw new Error('away');
      return due.splice(0, limit);
    },
  });
  await until(() => ends.has(1));
  expect(failed).toEqual([new Error('away')]);
  ends.get(1)!();
});

test('the end waits for running jobs and claims no more', async () => {
  const { ends, claims, worker } = queueOf(1, 2, 3, 4);
  const running = worker();
  await until(() => ends.size === 2);
  let ended = false;
  const end = running[Symbol.asyncDispose]().then(() => (ended = true));
  ends.get(1)!();
  await new Promise((look) => setImmediate(look));
  expect(ended).toBe(false);
  ends.get(2)!();
  await end;
  expect(claims).toEqual([2]);
});

test('rows are claimed ahead of their places, and more while as many wait as have places', async () => {
  const { ends, claims, worker } = queueOf(...Array.from({ length: 20 }, (_, n) => n + 1));
  await using _worker = worker({ ahead: { rows: 6, forMs: 60_000, release: async () => {} } });
  await until(() => ends.size === 2);
  expect(claims).toEqual([8]);
  for (const row of [1, 2, 3]) {
    ends.get(row)!();
    await until(() => ends.has(row + 2)); // a place is filled without a claim
  }
  expect(claims).toEqual([8]);
  ends.get(4)!();
  await until(() => claims.length === 2);
  expect([claims, ends.size]).toEqual([[8, 4], 6]);
  for (let row = 5; row <= 20; row += 1) {
    await until(() => ends.has(row));
    ends.get(row)!();
  }
});

test('a row that has waited too long for a place is released and not worked on', async () => {
  let now = 0;
  const released: (readonly number[])[] = [];
  const { ends, worker } = queueOf(1, 2, 3, 4, 5);
  await using _worker = worker({
    clock: { ...systemClock, monotonic: () => now },
    ahead: { rows: 4, forMs: 1_000, release: async (rows) => void released.push(rows) },
  });
  await until(() => ends.size === 2);
  now = 999;
  ends.get(1)!();
  await until(() => ends.has(3));
  now = 1_000;
  ends.get(2)!();
  await until(() => released.length > 0);
  ends.get(3)!();
  expect([[...ends.keys()], released]).toEqual([[1, 2, 3], [[4, 5]]]);
});

test('the end releases what waits for a place', async () => {
  const released: (readonly number[])[] = [];
  const { ends, worker } = queueOf(1, 2, 3, 4, 5);
  const running = worker({
    ahead: { rows: 4, forMs: 60_000, release: async (rows) => void released.push(rows) },
  });
  await until(() => ends.size === 2);
  const end = running[Symbol.asyncDispose]();
  await until(() => released.length > 0);
  for (const one of ends.values()) one();
  await end;
  expect([[...ends.keys()], released]).toEqual([[1, 2], [[3, 4, 5]]]);
});
