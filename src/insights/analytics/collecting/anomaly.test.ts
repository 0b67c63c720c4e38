import { describe, expect, test } from '@jest/globals';
import type { Metric } from '../../../providers/registry/index.ts';
import { comparedDays, deviationOf } from './anomaly.ts';
import { plusDays } from '../days.ts';

const DAY = '2026-02-28';
/** Values of the days before, the nearest last, and the value of the day. */
const judged = (before: readonly (number | undefined)[], value: number, metric: Metric = 'views', z = 3) => {
  const values = new Map([[DAY, value]]);
  before.forEach((one, n) => one !== undefined && values.set(plusDays(DAY, n - before.length), one));
  return deviationOf(metric, values, comparedDays(DAY), z);
};
const flat = (value: number, days = 28) => Array.from({ length: days }, () => value);
/** 100 and 120 by turns: mean 110, deviation 10.18. */
const wave = Array.from({ length: 28 }, (_, n) => (n % 2 === 0 ? 100 : 120));
const week = Array.from({ length: 28 }, (_, n) => (n % 7 < 5 ? 1_000 : 200));

describe('the deviation of a day', () => {
  test('is that from the mean of 28 days, in their standard deviations', () => {
    expect(judged(wave, 160)).toEqual({ direction: 'spike', value: 160, baseline: 110, deviation: 4.8 }); // 50 over √110
    expect(judged(wave, 50)).toEqual({ direction: 'drop', value: 50, baseline: 110, deviation: -5.7 });
    expect(judged(wave, 140)).toBeUndefined();
    expect(judged(wave, 140, 'views', 2.5)).toMatchObject({ deviation: 2.9 });
    expect(judged(wave, 160, 'views', 5)).toBeUndefined();
  });

  test.each<[string, readonly (number | undefined)[], number, string | undefined]>([
    ['one spike in a quiet series', flat(0), 10, 'spike'],
    ['below ten nothing stands out', flat(0), 9, undefined],
    ['zeros after zeros', flat(0), 0, undefined],
    ['silence after noise', flat(400), 0, 'drop'],
    ['silence after almost nothing', flat(9), 0, undefined],
    ['a day of a weekly pattern', week, 200, undefined],
    ['the top of a weekly pattern', week, 1_000, undefined],
    ['a day far above a weekly pattern', week, 3_000, 'spike'],
    ['steady growth', Array.from({ length: 28 }, (_, n) => 100 + 5 * n), 240, undefined],
    ['a jump over steady growth', Array.from({ length: 28 }, (_, n) => 100 + 5 * n), 400, 'spike'],
    ['a level that moved two weeks ago', [...flat(100, 14), ...flat(500, 14)], 500, undefined],
    ['an earlier spike hides no later one that is greater', [...flat(100, 27), 900], 1_500, 'spike'],
    ['an earlier spike hides one that is less', [...flat(100, 27), 5_000], 1_000, undefined],
    ['counts of one digit', Array.from({ length: 28 }, (_, n) => n % 4), 12, 'spike'],
    ['great numbers, moved by a hundredth', flat(1_000_000), 1_001_000, undefined],
    ['great numbers, moved by a tenth', flat(1_000_000), 1_100_000, 'spike'],
    ['fourteen days are enough', [...flat(0, 14).map(() => undefined), ...flat(10, 14)], 100, 'spike'],
    ['thirteen are not', [...flat(0, 15).map(() => undefined), ...flat(10, 13)], 100, undefined],
    ['days that are missing between', wave.map((one, n) => (n % 2 === 0 ? one : undefined)), 200, 'spike'],
  ])('%s', (_, before, value, direction) => {
    expect(judged(before, value)?.direction).toBe(direction);
  });

  test('of a stock is that of its daily change', () => {
    const grows = Array.from({ length: 29 }, (_, n) => 1_000 + 2 * n);
    expect(judged(grows, 1_058, 'followers')).toBeUndefined();
    expect(judged(grows, 1_156, 'followers')).toMatchObject({ direction: 'spike', value: 100, baseline: 2 });
    expect(judged(grows, 900, 'followers')).toMatchObject({ direction: 'drop', value: -156 });
    expect(judged([...grows.slice(0, -1), undefined], 5_000, 'followers')).toBeUndefined(); // no change is known
  });
});
