import { describe, expect, test } from '@jest/globals';
import { bestTimesOf } from './best-times.ts';

/** Posts of one engagement at an hour, a week apart. */
const posts = (first: string, count: number, engagement: number) =>
  Array.from({ length: count }, (_, n) => ({
    publishedAt: new Date(Date.parse(first) + n * 7 * 86_400_000),
    engagement,
  }));

describe('the best hours of a week', () => {
  test('are those of the zone, the best first, from 0 to 100', () => {
    const times = bestTimesOf(
      [...posts('2026-01-05T23:30:00Z', 15, 100), ...posts('2026-01-04T08:00:00Z', 15, 0)],
      'Asia/Tokyo',
    );
    expect(times).toEqual([
      { weekday: 2, hour: 8, score: 100 }, // a Monday in UTC, and Tuesday in Tokyo
      { weekday: 7, hour: 17, score: 14 },
    ]);
  });

  test('one great post is pulled towards the mean, and many good ones win', () => {
    const times = bestTimesOf(
      [
        ...posts('2026-01-05T10:00:00Z', 30, 50),
        ...posts('2026-01-06T10:00:00Z', 1, 120),
        ...posts('2026-01-07T10:00:00Z', 30, 10),
      ],
      'UTC',
    );
    expect(times.map(({ weekday }) => weekday)).toEqual([1, 2, 3]);
  });

  test('under twenty posts nothing is said, and without any engagement all hours are alike', () => {
    expect(bestTimesOf(posts('2026-01-05T10:00:00Z', 19, 5), 'UTC')).toEqual([]);
    expect(bestTimesOf(posts('2026-01-05T10:00:00Z', 20, 0), 'No/Where')).toEqual([{ weekday: 1, hour: 10, score: 0 }]);
  });
});
