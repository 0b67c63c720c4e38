import { describe, expect, test } from '@jest/globals';
import { fc } from '../../test/support/properties.ts';
import { monthOf } from './month.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/**
 * Walks from the anchor day by day through a calendar written down here, and knows nothing of months as a library has
 * them.
 */
const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
const lengthOf = (year: number, month: number) => (month === 1 && isLeap(year) ? 29 : LENGTHS[month]!);
function* boundaries(year: number, month: number, day: number): Generator<string> {
  for (;;) {
    const shown = Math.min(day, lengthOf(year, month));
    yield `${year}-${String(month + 1).padStart(2, '0')}-${String(shown).padStart(2, '0')}`;
    month += 1;
    if (month === 12) {
      month = 0;
      year += 1;
    }
  }
}

describe.each([28, 29, 30, 31])('an anniversary on day %i', (day) => {
  test('begins each month of ten years on that day, or on the last one of a shorter month, and never drifts [LM13]', () => {
    const time = 'T13:14:15.167Z';
    const anchor = new Date(`2023-12-${day}${time}`);
    const expected = boundaries(2023, 11, day);
    let start = new Date(`${expected.next().value}${time}`);
    for (let n = 0; n < 120; n++) {
      const end = new Date(`${expected.next().value}${time}`);
      for (const inside of [
        start,
        new Date(start.getTime() + 1),
        new Date((start.getTime() + end.getTime()) / 2),
        new Date(end.getTime() - 1),
      ])
        expect(monthOf(anchor, inside)).toEqual({ start, end });
      start = end;
    }
    expect(start.toISOString()).toBe(`2033-12-${day}${time}`);
  });
});

test('a leap-day anniversary begins on the last day of February in common years', () => {
  const anchor = new Date('2024-02-29T00:00:00Z');
  expect(monthOf(anchor, new Date('2025-03-01T00:00:00Z'))).toEqual({
    start: new Date('2025-02-28T00:00:00Z'),
    end: new Date('2025-03-29T00:00:00Z'),
  });
  expect(monthOf(anchor, new Date('2028-02-29T00:00:00Z')).start).toEqual(new Date('2028-02-29T00:00:00Z'));
});

test('every instant lies in its month; months are contiguous and 28 to 31 days long', () => {
  const instant = fc.date({
    min: new Date('2000-01-01T00:00:00Z'),
    max: new Date('2100-01-01T00:00:00Z'),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(instant, instant, (anchor, now) => {
      const { start, end } = monthOf(anchor, now);
      expect(start <= now && now < end).toBe(true);
      expect(monthOf(anchor, end).start).toEqual(end);
      expect(monthOf(anchor, new Date(start.getTime() - 1)).end).toEqual(start);
      const days = (end.getTime() - start.getTime()) / DAY;
      expect(days >= 28 && days <= 31).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
