import { expect, test } from '@jest/globals';
import { note } from '../../../../test/support/processes/chaos.ts';
import { Random } from '../../../../test/support/random.ts';
import { plusDays } from '../days.ts';
import { comparedDays, deviationOf } from './anomaly.ts';

// What stands out in whole series: those with answers known by hand, and years in which nothing happens.

const FIRST = '2026-01-01';
const Z = 3;
const DAYS = 60;
/** Undefined: a day without a value. */
type Series = readonly (number | undefined)[];
const daysOf = (series: Series): Map<string, number> =>
  new Map(series.flatMap((value, n) => (value === undefined ? [] : [[plusDays(FIRST, n), value] as const])));
const series = (valueOf: (day: number) => number | undefined): Series =>
  Array.from({ length: DAYS }, (_, n) => valueOf(n));

/** Shapes of a series around a base, with the days that stand out. */
const SHAPES: readonly [name: string, (base: number) => Series, Readonly<Record<number, 'spike' | 'drop'>>][] = [
  ['a level', (base) => series(() => base), {}],
  ['a weekly pattern', (base) => series((n) => (n % 7 < 5 ? base : base / 5)), {}],
  ['steady growth', (base) => series((n) => base + (n * base) / 100), {}],
  [
    'zeros, whatever they follow long after',
    (base) => series((n) => (n < 20 ? base : 0)),
    { 20: 'drop', 21: 'drop', 22: 'drop' },
  ],
  ['one spike', (base) => series((n) => (n === 40 ? 3 * base : base)), { 40: 'spike' }],
  ['one day without anything', (base) => series((n) => (n === 40 ? 0 : base)), { 40: 'drop' }],
  ['a new level', (base) => series((n) => (n < 40 ? base : 2 * base)), { 40: 'spike', 41: 'spike', 42: 'spike' }],
  [
    'a spike between gaps',
    (base) => series((n) => (n % 2 > 0 ? undefined : n === 44 ? 3 * base : base)),
    { 44: 'spike' },
  ],
];

test.each(
  SHAPES.flatMap(([name, of, found]) =>
    [50, 200, 1_000, 20_000, 1_000_000].map((base) => [name, base, of, found] as const),
  ),
)('in %s of %d what stands out is known', (_name, base, of, found) => {
  const values = daysOf(of(base));
  const told = Array.from({ length: DAYS }, (_, n) => [
    n,
    deviationOf('views', values, comparedDays(plusDays(FIRST, n)), Z)?.direction,
  ]);
  expect(Object.fromEntries(told.filter(([, direction]) => direction !== undefined))).toEqual(found);
});

test('a thousand channel years in which nothing happens have few days that stand out', () => {
  const YEAR = 365;
  let alerts = 0;
  for (let channel = 0; channel < 1_000; channel++) {
    const random = new Random(channel, 'a quiet year');
    const base = 10 ** (1.5 + 3 * random.next());
    const growth = random.next() / YEAR;
    const weekend = random.chance(0.5) ? 0.4 + 0.6 * random.next() : 1;
    /** About normal, with a deviation of one. */
    const noise = () => 2 * (random.next() + random.next() + random.next() - 1.5);
    const values = daysOf(
      Array.from({ length: YEAR }, (_, n) =>
        Math.round(base * (1 + n * growth) * (n % 7 < 5 ? 1 : weekend) * (1 + 0.1 * noise())),
      ),
    );
    let quietUntil = 0;
    for (let n = 14; n < YEAR; n++)
      if (n >= quietUntil && deviationOf('views', values, comparedDays(plusDays(FIRST, n)), Z)) {
        alerts += 1;
        quietUntil = n + 4; // three days without another
      }
  }
  note({ years: 1_000, alerts });
  expect(alerts).toBeLessThan(1_000);
});
