import { describe, expect, test } from '@jest/globals';
import type { Series } from '../../providers/registry/index.ts';
import { countsOfPost, percentageChange, toldOfChannel, valueOver } from './rules.ts';

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

test('flows add up and stocks are the latest; changes have one decimal, and are 0 where nothing was', () => {
  expect([valueOver('views', [1, 2, 3]), valueOver('followers', [1, 5, 3]), valueOver('views', [])]).toEqual([
    6,
    3,
    undefined,
  ]);
  expect([percentageChange(110, 90), percentageChange(0, 10), percentageChange(5, 0)]).toEqual([22.2, -100, 0]);
  expect([percentageChange(5, undefined), percentageChange(undefined, 5)]).toEqual([0, 0]);
});
