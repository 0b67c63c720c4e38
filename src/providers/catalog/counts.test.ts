import { expect, test } from '@jest/globals';
import { systemClock } from '../../platform/kernel/index.ts';
import { follow, openCounts } from './counts.ts';
import type { Tally } from './health-store.ts';

function world() {
  const written: (readonly Tally[])[] = [];
  const failures: unknown[] = [];
  let seconds = 0;
  let broken = false;
  const counts = openCounts({
    clock: { ...systemClock, now: () => new Date((seconds += 1) * 1_000) },
    write: async (tallies) => {
      if (broken) throw new Error('The database is away');
      written.push(tallies);
    },
    failed: (error) => failures.push(error),
  });
  const call = (ok: boolean, id = 'smtp') => counts.note({ domain: 'email', id, version: 'v1', ok });
  return { counts, written, failures, call, breakDown: (now: boolean) => void (broken = now) };
}
const instant = (seconds: number) => new Date(seconds * 1_000);

test('writes a thousand calls in one statement, with the errors since the last success [PV8]', async () => {
  const { counts, written, call } = world();
  for (let n = 0; n < 997; n += 1) call(n % 2 === 0);
  for (const ok of [true, false, false]) call(ok);
  call(false, 'other');
  await counts.flush();
  expect(written).toEqual([
    [
      {
        domain: 'email',
        providerId: 'smtp',
        version: 'v1',
        successCount: 500,
        errorCount: 500,
        consecutiveErrors: 2,
        lastSuccessAt: instant(998),
        lastErrorAt: instant(1_000),
      },
      {
        domain: 'email',
        providerId: 'other',
        version: 'v1',
        successCount: 0,
        errorCount: 1,
        consecutiveErrors: 1,
        lastSuccessAt: null,
        lastErrorAt: instant(1_001),
      },
    ],
  ]);
  await counts.flush();
  expect(written).toHaveLength(1);
});

test('adds outcomes of a failed write to the next one, in order', async () => {
  const { counts, written, failures, call, breakDown } = world();
  call(false);
  breakDown(true);
  await expect(counts.flush()).rejects.toThrow('away');
  call(false);
  call(true);
  call(false);
  breakDown(false);
  await counts[Symbol.asyncDispose]();
  expect(failures).toEqual([]);
  expect(written).toEqual([
    [
      expect.objectContaining({
        successCount: 1,
        errorCount: 3,
        consecutiveErrors: 1,
        lastSuccessAt: instant(3),
        lastErrorAt: instant(4),
      }),
    ],
  ]);
});

test('writes the rest on disposal, and reports a failure', async () => {
  const first = world();
  first.call(true);
  await first.counts[Symbol.asyncDispose]();
  expect(first.written).toHaveLength(1);
  const second = world();
  second.call(true);
  second.breakDown(true);
  await second.counts[Symbol.asyncDispose]();
  expect(second.failures).toHaveLength(1);
});

test('resets consecutive errors at a success', () => {
  const one = {
    domain: 'd',
    providerId: 'p',
    version: 'v1',
    successCount: 0,
    errorCount: 3,
    consecutiveErrors: 3,
    lastSuccessAt: null,
    lastErrorAt: instant(1),
  };
  expect(follow(one, { ...one, errorCount: 2, consecutiveErrors: 2 }).consecutiveErrors).toBe(5);
  expect(follow(one, { ...one, successCount: 1, errorCount: 2, consecutiveErrors: 1 }).consecutiveErrors).toBe(1);
});
