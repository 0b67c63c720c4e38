import { describe, expect, test } from '@jest/globals';
import { RRuleTemporal } from 'rrule-temporal';
import { fc } from '../../../test/support/properties.ts';
import { instantOfUntil, localTimesAfter, parseRule, type RecurrenceRule } from './recurrence.ts';
import { instantOfLocal } from './zone.ts';

const ruleOf = (text: string): RecurrenceRule => {
  const rule = parseRule(text);
  if (typeof rule === 'string') throw new Error(rule);
  return rule;
};
const days = (text: string, from: string, most = 4) =>
  localTimesAfter(ruleOf(text), `${from}T10:00:00.000`, { most }).map((time) => time.replace('T10:00:00.000', ''));

test.each([
  ['FREQ=DAILY', '2026-12-30', ['2026-12-31', '2027-01-01', '2027-01-02', '2027-01-03']],
  ['FREQ=DAILY;INTERVAL=365', '2027-01-01', ['2028-01-01', '2028-12-31', '2029-12-31', '2030-12-31']],
  ['FREQ=WEEKLY;BYDAY=MO,FR', '2026-09-02', ['2026-09-04', '2026-09-07', '2026-09-11', '2026-09-14']],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=MO', '2026-09-01', ['2026-09-06', '2026-09-20', '2026-10-04', '2026-10-18']],
  ['FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU', '2026-09-01', ['2026-09-13', '2026-09-27', '2026-10-11', '2026-10-25']],
  ['FREQ=MONTHLY', '2027-01-31', ['2027-03-31', '2027-05-31', '2027-07-31', '2027-08-31']],
  ['FREQ=MONTHLY;BYMONTHDAY=-1', '2027-12-31', ['2028-01-31', '2028-02-29', '2028-03-31', '2028-04-30']],
  ['FREQ=MONTHLY;BYDAY=2TU', '2026-09-01', ['2026-09-08', '2026-10-13', '2026-11-10', '2026-12-08']],
  [
    'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
    '2026-09-01',
    ['2026-09-30', '2026-10-30', '2026-11-30', '2026-12-31'],
  ],
  ['FREQ=YEARLY', '2028-02-29', ['2032-02-29', '2036-02-29', '2040-02-29', '2044-02-29']],
  ['FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU', '2026-01-01', ['2026-03-29', '2027-03-28', '2028-03-26', '2029-03-25']],
  ['FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30', '2026-01-01', []],
])('%s after %s names %j', (rule, from, expected) => expect(days(rule, from)).toEqual(expected));

test('a fraction of the second and the time of day stay', () =>
  expect(localTimesAfter(ruleOf('FREQ=WEEKLY'), '2026-09-01T23:59:59.123', { most: 1 })).toEqual([
    '2026-09-08T23:59:59.123',
  ]));

test('dates far ahead are found without those before them', () =>
  expect(
    localTimesAfter(ruleOf('FREQ=DAILY;INTERVAL=3'), '2026-09-01T10:00:00.500', {
      first: '2126-09-01T00:00:00.000',
      last: '2126-09-05T10:00:00.500',
    }),
  ).toEqual(['2126-09-02T10:00:00.500', '2126-09-05T10:00:00.500']));

test.each([
  ['COUNT and parts in small letters, after the name of the property', 'rrule:freq=daily;count=3', 'FREQ=DAILY', 3],
  ['UNTIL', 'FREQ=DAILY;UNTIL=20261231', 'FREQ=DAILY', undefined],
])('%s is read', (_, text, daysOfRule, count) => expect(ruleOf(text)).toMatchObject({ days: daysOfRule, count }));

test.each([
  ['', 'parts such as'],
  ['DAILY', 'parts such as'],
  ['FREQ=DAILY;FREQ=WEEKLY', 'each once'],
  ['FREQ=HOURLY', 'FREQ must be one of'],
  ['INTERVAL=2', 'FREQ must be one of'],
  ['FREQ=DAILY;INTERVAL=0', 'INTERVAL must be'],
  ['FREQ=DAILY;INTERVAL=1001', 'INTERVAL must be'],
  ['FREQ=DAILY;INTERVAL=NaN', 'INTERVAL must be'],
  ['FREQ=DAILY;INTERVAL=1e3', 'INTERVAL must be'],
  ['FREQ=DAILY;BYHOUR=10', 'not supported'],
  ['FREQ=YEARLY;BYWEEKNO=1', 'not supported'],
  ['FREQ=DAILY\nRRULE:FREQ=DAILY', 'parts such as'],
  ['FREQ=WEEKLY;BYDAY=1MO', 'BYDAY must be weekdays such as MO,FR'],
  ['FREQ=MONTHLY;BYDAY=6MO', 'numbers up to 5'],
  ['FREQ=YEARLY;BYDAY=53MO', 'numbers up to 52'],
  ['FREQ=MONTHLY;BYDAY=', 'BYDAY must be'],
  ['FREQ=WEEKLY;BYMONTHDAY=1', 'does not go with'],
  ['FREQ=MONTHLY;BYMONTHDAY=32', 'BYMONTHDAY must be'],
  ['FREQ=YEARLY;BYMONTH=13', 'BYMONTH must be'],
  ['FREQ=MONTHLY;BYSETPOS=1', 'BYSETPOS needs'],
  ['FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0', 'BYSETPOS must be'],
  ['FREQ=WEEKLY;WKST=XX', 'WKST must be'],
  ['FREQ=DAILY;COUNT=0', 'COUNT must be'],
  ['FREQ=DAILY;COUNT=10001', 'COUNT must be'],
  ['FREQ=DAILY;UNTIL=20260230', 'UNTIL must be'],
  ['FREQ=DAILY;UNTIL=2026-12-31', 'UNTIL must be'],
  ['FREQ=DAILY;COUNT=2;UNTIL=20261231', 'exclude each other'],
])('%j is refused: %s', (text, sentence) => expect(parseRule(text)).toEqual(expect.stringContaining(sentence)));

test.each([
  ['20261231', '2026-12-31T22:59:59.000Z'],
  ['20261231T100000', '2026-12-31T09:00:00.000Z'],
  ['20261231T100000Z', '2026-12-31T10:00:00.000Z'],
])('UNTIL=%s ends at %s in Berlin', (until, instant) =>
  expect(instantOfUntil(until, (local) => instantOfLocal(local, 'Europe/Berlin')).toISOString()).toBe(instant),
);

test('rules without a date and with many dates end soon', () => {
  const started = process.cpuUsage().user;
  for (const rule of [
    'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=DAILY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=31',
    'FREQ=MONTHLY;BYDAY=MO;BYSETPOS=366',
    'FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12;BYSETPOS=-366',
  ])
    localTimesAfter(ruleOf(rule), '2026-09-01T10:00:00.000', { most: 10 });
  expect(process.cpuUsage().user - started).toBeLessThan(10_000_000);
});

describe('compared with looking at each day', () => {
  const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
  const DAY = 86_400_000;
  interface Parts {
    freq: 'DAILY' | 'WEEKLY' | 'MONTHLY' | 'YEARLY';
    interval: number;
    byDay: string[];
    byMonthDay: number[];
    byMonth: number[];
    setPos: number | undefined;
  }
  const monthOf = (day: Date) => day.getUTCFullYear() * 12 + day.getUTCMonth();
  const weekOf = (day: Date) => Math.floor((day.getTime() / DAY + 3) / 7); // begins on Monday
  const period = {
    DAILY: (day: Date) => day.getTime() / DAY,
    WEEKLY: weekOf,
    MONTHLY: monthOf,
    YEARLY: (day: Date) => day.getUTCFullYear(),
  };

  function isNamed(day: Date, start: Date, { freq, byDay, byMonthDay, byMonth }: Parts): boolean {
    const last = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate();
    if (byMonth.length > 0 && !byMonth.includes(day.getUTCMonth() + 1)) return false;
    if (byMonthDay.length > 0 && !byMonthDay.some((n) => day.getUTCDate() === (n > 0 ? n : last + n + 1))) return false;
    if (byDay.length > 0 && !byDay.includes(WEEKDAYS[day.getUTCDay()]!)) return false;
    // what the rule leaves open is as on the first day
    const isOpen = byDay.length === 0 && byMonthDay.length === 0;
    if (freq === 'WEEKLY' && byDay.length === 0) return day.getUTCDay() === start.getUTCDay();
    if (freq === 'MONTHLY' && isOpen) return day.getUTCDate() === start.getUTCDate();
    if (freq === 'YEARLY' && isOpen)
      return (
        day.getUTCDate() === start.getUTCDate() && (byMonth.length > 0 || day.getUTCMonth() === start.getUTCMonth())
      );
    return true;
  }
  function slowly(parts: Parts, start: Date, count: number): string[] {
    const of = period[parts.freq];
    const first = of(start);
    const found: string[] = [];
    let group: Date[] = [];
    const begin = new Date(
      Date.UTC(start.getUTCFullYear(), parts.freq === 'YEARLY' ? 0 : start.getUTCMonth(), 1) - 7 * DAY,
    );
    for (let time = begin.getTime(); found.length < count && time < start.getTime() + 3_000 * DAY; time += DAY) {
      const day = new Date(time);
      if (group.length > 0 && of(group[0]!) !== of(day)) {
        const chosen =
          parts.setPos === undefined ? group : [group.at(parts.setPos > 0 ? parts.setPos - 1 : parts.setPos)];
        found.push(...chosen.flatMap((one) => (one && one > start ? [one.toISOString().slice(0, 10)] : [])));
        group = [];
      }
      if ((of(day) - first) % parts.interval === 0 && of(day) >= first && isNamed(day, start, parts)) group.push(day);
    }
    return found.slice(0, count);
  }

  const partsOf = fc.record({
    freq: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    interval: fc.integer({ min: 1, max: 4 }),
    byDay: fc.uniqueArray(fc.constantFrom(...WEEKDAYS), { maxLength: 3 }),
    byMonthDay: fc.uniqueArray(fc.constantFrom(1, 13, 28, 29, 31, -1, -2), { maxLength: 2 }),
    byMonth: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
    setPos: fc.option(fc.constantFrom(1, 2, -1), { nil: undefined }),
  }) as fc.Arbitrary<Parts>;
  const start = fc.integer({ min: 0, max: 1_500 }).map((n) => new Date(Date.UTC(2026, 0, 1) + n * DAY));

  test('a rule names the same days, in the same order', () =>
    fc.assert(
      fc.property(partsOf, start, (drawn, from) => {
        const parts = { ...drawn, byMonthDay: drawn.freq === 'WEEKLY' ? [] : drawn.byMonthDay };
        const lists = [parts.byDay, parts.byMonthDay, parts.byMonth];
        if (lists.every((list) => list.length === 0)) parts.setPos = undefined;
        const text = [
          `FREQ=${parts.freq}`,
          `INTERVAL=${parts.interval}`,
          ...['BYDAY', 'BYMONTHDAY', 'BYMONTH'].flatMap((name, n) =>
            lists[n]!.length > 0 ? [`${name}=${lists[n]!.join(',')}`] : [],
          ),
          ...(parts.setPos === undefined ? [] : [`BYSETPOS=${parts.setPos}`]),
        ].join(';');
        const expected = slowly(parts, from, 5);
        expect([text, days(text, from.toISOString().slice(0, 10), expected.length)]).toEqual([text, expected]);
      }),
      { numRuns: 150 },
    ));
});

describe('compared with rrule-temporal', () => {
  const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];
  const list = <T>(of: fc.Arbitrary<T>, maxLength: number) => fc.uniqueArray(of, { maxLength });
  const signed = (most: number) => fc.integer({ min: -most, max: most }).filter((n) => n !== 0);
  /** All of them numbered or none: of both it takes the numbered ones alone. */
  const weekdays = (most: number) =>
    fc.oneof(
      list(fc.constantFrom(...WEEKDAYS), 3),
      ...(most > 0
        ? [
            list(
              fc.tuple(signed(most), fc.constantFrom(...WEEKDAYS)).map(([n, day]) => `${n}${day}`),
              3,
            ),
          ]
        : []),
    );
  const rule = fc
    .constantFrom<[freq: string, nth: number]>(
      ['DAILY', 0],
      ['WEEKLY', 0],
      ['MONTHLY', 5],
      ['YEARLY', 52],
      ['YEARLY', 5],
    )
    .chain(([freq, nth]) =>
      fc
        .record({
          interval: fc.integer({ min: 1, max: 5 }),
          byDay: weekdays(nth),
          byMonthDay: freq === 'WEEKLY' || nth === 52 ? fc.constant([]) : list(signed(31), 3),
          byMonth: nth === 52 ? fc.constant([]) : list(fc.integer({ min: 1, max: 12 }), 3),
          bySetPos: list(signed(6), 2),
          weekStart: fc.constantFrom(...WEEKDAYS),
        })
        .map(({ interval, byDay, byMonthDay, byMonth, bySetPos, weekStart }) => {
          const parts = { BYDAY: byDay, BYMONTHDAY: byMonthDay, BYMONTH: byMonth };
          const said = Object.entries(parts).flatMap(([name, some]) =>
            some.length > 0 ? [`${name}=${some.join(',')}`] : [],
          );
          const positions = said.length > 0 && bySetPos.length > 0 ? [`BYSETPOS=${bySetPos.join(',')}`] : [];
          return [`FREQ=${freq}`, `INTERVAL=${interval}`, ...said, ...positions, `WKST=${weekStart}`].join(';');
        }),
    )
    .filter((text) => typeof parseRule(text) === 'object')
    // of years without months it takes a numbered weekday for all, where the RFC says that days of the month limit it
    .filter((text) => !(/YEARLY.*BYDAY=.*BYMONTHDAY/.test(text) && !text.includes('BYMONTH=')));
  const start = fc.integer({ min: 0, max: 1_500 }).map((n) => new Date(Date.UTC(2026, 0, 1, 10) + n * 86_400_000));

  test('a rule names the same days of ten years, numbered weekdays and weeks of any beginning among them', () =>
    fc.assert(
      fc.property(rule, start, (text, from) => {
        const local = from.toISOString().slice(0, -1);
        const until = new Date(from.getTime() + 3_650.5 * 86_400_000);
        const other = new RRuleTemporal({
          rruleString: `DTSTART:${local.slice(0, 19).replace(/[-:]/g, '')}Z\nRRULE:${text}`,
          maxIterations: 4_000,
          cache: false,
        });
        const expected = other
          .between(from, until, false)
          .map((date) => date.toString().slice(0, 10))
          .slice(0, 20);
        const own = localTimesAfter(ruleOf(text), local, { last: until.toISOString().slice(0, -1), most: 20 });
        expect([text, local, own.map((time) => time.slice(0, 10))]).toEqual([text, local, expected]);
      }),
      { numRuns: 100 },
    ));
});
