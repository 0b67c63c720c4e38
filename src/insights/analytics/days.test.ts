import { describe, expect, test } from '@jest/globals';
import { AppError } from '../../platform/kernel/index.ts';
import { askedRange, lastDays, plusDays, rangeBefore, shownRange, shownWeeks } from './days.ts';

const NOW = new Date('2026-03-01T23:59:59.000Z');

describe('ranges of days', () => {
  test('the last days are whole, and days go on over months and leap years', () => {
    expect(lastDays(NOW, 7)).toEqual({ from: '2026-02-22', to: '2026-02-28' });
    expect(lastDays(NOW, 1)).toEqual({ from: '2026-02-28', to: '2026-02-28' });
    expect(plusDays('2028-02-28', 1)).toBe('2028-02-29');
    expect(rangeBefore({ from: '2026-02-22', to: '2026-02-28' })).toEqual({ from: '2026-02-15', to: '2026-02-21' });
  });

  test('a range that is not asked for is of 30 days, and ends yesterday or begins where it is said', () => {
    expect(askedRange({}, NOW)).toEqual({ from: '2026-01-30', to: '2026-02-28' });
    expect(askedRange({ to: '2026-01-30' }, NOW)).toEqual({ from: '2026-01-01', to: '2026-01-30' });
    expect(askedRange({ from: '2026-02-27' }, NOW)).toEqual({ from: '2026-02-27', to: '2026-02-28' });
    expect(askedRange({ from: '2026-03-05' }, NOW)).toEqual({ from: '2026-03-05', to: '2026-03-05' });
  });

  test('a range ends today at the latest, or with the day that it begins on', () => {
    expect(askedRange({ from: '2026-02-27', to: '2027-03-01' }, NOW)).toEqual({ from: '2026-02-27', to: '2026-03-01' });
    expect(askedRange({ to: '9999-12-31' }, NOW)).toEqual({ from: '2026-01-31', to: '2026-03-01' });
    expect(askedRange({ from: '2026-03-05', to: '2026-03-09' }, NOW)).toEqual({ from: '2026-03-05', to: '2026-03-05' });
  });

  test.each([
    [{ from: '2026-02-02', to: '2026-02-01' }, 'too_small'],
    [{ from: '2026-02-02', to: '9000-12-31' }, 'too_big'],
    [{ from: '1999-01-01', to: '2026-02-01' }, 'too_big'],
  ])('%j is refused', (asked, rule) => {
    const refusal = (() => {
      try {
        return askedRange(asked, NOW);
      } catch (error) {
        return error;
      }
    })();
    expect((refusal as AppError).extra).toMatchObject({ errors: [{ field: 'to', rule }] });
  });

  test('a plan cuts what lies before its days', () => {
    const range = { from: '2026-01-01', to: '2026-02-28' };
    expect(shownRange(range, NOW, 180)).toEqual(range);
    expect(shownRange(range, NOW, 10)).toEqual({ from: '2026-02-19', to: '2026-02-28' });
    expect(shownRange({ from: '2026-01-01', to: '2026-01-02' }, NOW, 10)).toBeUndefined();
  });

  test('weeks are whole, but for that of today, and one that the plan shows a part of is left out', () => {
    const range = { from: '2026-01-07', to: '2026-02-19' }; // a Wednesday and a Thursday
    expect(shownWeeks(range, NOW, 180)).toEqual({ from: '2026-01-05', to: '2026-02-22' });
    expect(shownWeeks(range, NOW, 14)).toEqual({ from: '2026-02-16', to: '2026-02-22' }); // from Sunday, the 15th
    expect(shownWeeks(range, NOW, 13)).toEqual({ from: '2026-02-16', to: '2026-02-22' });
    expect(shownWeeks(range, NOW, 12)).toBeUndefined();
    const until = (to: string) => shownWeeks({ from: '2026-02-23', to }, NOW, 180);
    expect(until('2026-02-28')).toEqual({ from: '2026-02-23', to: '2026-02-28' });
    expect(until('2026-02-26')).toEqual({ from: '2026-02-23', to: '2026-02-28' }); // whole until now
    expect(until('2026-03-04')).toEqual({ from: '2026-02-23', to: '2026-03-04' });
    const wednesday = new Date('2026-02-25T12:00:00.000Z');
    expect(shownWeeks({ from: '2026-02-16', to: '2026-02-24' }, wednesday, 180)).toEqual({
      from: '2026-02-16',
      to: '2026-02-24',
    });
  });
});
