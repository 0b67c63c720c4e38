import { expect, test } from '@jest/globals';
import { systemClock } from '../../../platform/kernel/index.ts';
import { openStatementQueue } from './statement-queue.ts';

test('work is done one after another, after a rest as long as the work before it took, even where that failed', async () => {
  let now = 0;
  const seen: string[] = [];
  const inQueue = openStatementQueue({
    ...systemClock,
    monotonic: () => now,
    sleep: (ms) => {
      seen.push(`rest ${ms}`);
      return Promise.resolve();
    },
  });
  const work = (name: string, ms: number) => async () => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    now += ms;
    seen.push(`${name} ends`);
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const done = await Promise.allSettled([inQueue(work('a', 5)), inQueue(work('b', 7)), inQueue(work('c', 9_000))]);
  await inQueue(work('d', 0));
  expect(done.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
    'a',
    'Error: b failed',
    'c',
  ]);
  expect(seen.slice(0, 11)).toEqual([
    'a begins',
    'a ends',
    'rest 5',
    'b begins',
    'b ends',
    'rest 7',
    'c begins',
    'c ends',
    'rest 1000',
    'd begins',
    'd ends',
  ]);
});
