import { describe, expect, test } from '@jest/globals';
import type { Series } from '../../providers/registry/index.ts';
import { changeOver, countsOfPost, percentageChange, toldOfChannel } from './rules.ts';

const DAYS = { from: '2026-01-01', to: '2026-01-07' };
const TODAY = '2026-01-08';
const told = (...series: readonly { metric: string; points: readonly { date: string; value: unknown }[] }[]) =>
  toldOfChannel(series as unknown as Series[], DAYS, TODAY);

describe('what a network tells of a channel', () => {
  test('series by day are kept within the days that were asked for', () => {
    const points = ['2025-12-31', '2026-01-01', '2026-01-07', '2026-01-09'].map((date, n) => ({ date, value: n }));
    const { points: kept, own, leftOut } = told({ metric: 'views', points });
    expect(kept).toEqual([
      { metric: 'views', date: '2026-01-01', value: 1 },
      { metric: 'views', date: '2026-01-07', value: 2 },
    ]);
    expect([[...own], leftOut]).toEqual([['views'], []]);
  });

  test('a stock as it is now is that of the day that has ended; a total of a flow is no series', () => {
    const now = (metric: string, value: number) => ({ metric, points: [{ date: TODAY, value }] });
    const { points, own } = told(now('followers', 12), now('likes', 900));
    expect(points).toEqual([{ metric: 'followers', date: '2026-01-07', value: 12 }]);
    expect([...own]).toEqual([]);
  });

  test('a series without values is the network’s own all the same, and the last of two values of a day counts', () => {
    const date = '2026-01-03';
    const { points, own } = told(
      { metric: 'reach', points: [] },
      { metric: 'views', points: [1, 2].map((value) => ({ date, value })) },
    );
    expect(points).toEqual([{ metric: 'views', date, value: 2 }]);
    expect([...own]).toEqual(['reach', 'views']);
  });

  test.each([Number.NaN, Infinity, -1, 1e18, '7', null, {}])('the value %p is left out and named', (value) => {
    const points = [
      { date: '2026-01-02', value },
      { date: '2026-01-03', value: 3 },
    ];
    expect(told({ metric: 'views', points })).toMatchObject({ points: [{ date: '2026-01-03' }], leftOut: ['views'] });
    expect(countsOfPost({ likes: value, views: 3 })).toEqual({ views: 3 });
  });

  test('a metric that is in no catalogue is left out and named', () => {
    expect(told({ metric: 'karma', points: [{ date: '2026-01-02', value: 1 }] })).toMatchObject({
      points: [],
      leftOut: ['karma'],
    });
    expect(countsOfPost({ karma: 1, toString: 2, likes: 3 })).toEqual({ likes: 3 });
  });
});

test('changes have one decimal, and are 0 where nothing was', () => {
  expect([percentageChange(110, 90), percentageChange(0, 10), percentageChange(5, 0)]).toEqual([22.2, -100, 0]);
  expect([percentageChange(5, undefined), percentageChange(undefined, 5)]).toEqual([0, 0]);
});

describe('the change over a range', () => {
  const value = (date: string, of: number, interval: 'day' | 'week' = 'day') => ({ date, value: of, interval });

  test('of a flow is that of the days that both times know', () => {
    const values = ['2025-12-27', '2026-01-01', '2026-01-03'].map((date, n) => value(date, 10 * (n + 1)));
    expect(changeOver('views', values, DAYS)).toBe(200);
    expect(changeOver('views', values.slice(1), DAYS)).toBe(0);
  });

  test('of a flow takes from weeks the days that it compares', () => {
    const values = [value('2025-12-22', 70, 'week'), value('2026-01-01', 12), value('2026-01-05', 100)];
    expect(changeOver('views', values, DAYS)).toBe(20); // 1 January and 25 December alone
  });

  test('of a stock is that of the latest values', () => {
    const values = [value('2025-12-26', 90), value('2025-12-30', 100), value('2026-01-02', 110)];
    expect(changeOver('followers', values, DAYS)).toBe(10);
  });
});
