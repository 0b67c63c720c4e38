import { expect, test } from '@jest/globals';
import { BOUNDS, percentile } from './lateness.ts';

const buckets = (counts: Record<number, number>) => [...BOUNDS, Infinity].map((bound) => counts[bound] ?? 0);

test('a percentile is the bound below which that share lies', () => {
  const counted = buckets({ 5: 90, 100: 9, 5_000: 1 });
  expect([percentile(counted, 0.5), percentile(counted, 0.99), percentile(counted, 1)]).toEqual([5, 100, 5_000]);
});
test('nothing sent has no percentile; what is later than all bounds counts as the last', () => {
  expect(percentile(buckets({}), 0.5)).toBeNull();
  expect(percentile(buckets({ Infinity: 3 } as never), 0.5)).toBe(BOUNDS.at(-1));
});
