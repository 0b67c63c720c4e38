import { describe, expect, test } from '@jest/globals';
import { summaryTimes } from './summary.ts';

const at = (now: string, zone: string) => {
  const { monday, nextAt } = summaryTimes(new Date(now), zone);
  return [monday, nextAt.toISOString()];
};

describe('the time of a weekly summary', () => {
  test.each([
    // the clocks of Berlin show 08:59 and 09:00 on Monday, 5 January 2026
    ['2026-01-05T07:59:59Z', 'Europe/Berlin', '2025-12-29', '2026-01-05T08:00:00.000Z'],
    ['2026-01-05T08:00:00Z', 'Europe/Berlin', '2026-01-05', '2026-01-12T08:00:00.000Z'],
    ['2026-01-11T23:00:00Z', 'Europe/Berlin', '2026-01-05', '2026-01-12T08:00:00.000Z'],
    // over the change of clocks the hour stays
    ['2026-03-23T08:00:00Z', 'Europe/Berlin', '2026-03-23', '2026-03-30T07:00:00.000Z'],
    // it is Monday already on Kiritimati, and still Sunday in Honolulu
    ['2026-01-04T20:00:00Z', 'Pacific/Kiritimati', '2026-01-05', '2026-01-11T19:00:00.000Z'],
    ['2026-01-05T18:00:00Z', 'Pacific/Honolulu', '2025-12-29', '2026-01-05T19:00:00.000Z'],
    ['2026-01-05T09:00:00Z', 'No/Where', '2026-01-05', '2026-01-12T09:00:00.000Z'],
  ])('%s in %s is that of %s, and the next is %s', (now, zone, monday, next) => {
    expect(at(now, zone)).toEqual([monday, next]);
  });
});
