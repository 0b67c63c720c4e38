import { describe, expect, test } from '@jest/globals';
import { datesAfter, datesBetween, followingDate, type Recurrence } from './recurrence.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (text: string) => new Date(text);
const series = (local: string, more: Partial<Recurrence> = {}): Recurrence => ({
  days: 'FREQ=DAILY;INTERVAL=1',
  timezone: 'Europe/Berlin',
  local: `${local}:00.000`,
  until: null,
  left: null,
  inter: 1,
  ...more,
});
const instants = (dates: readonly { at: Date }[]) => dates.map((date) => date.at.toISOString().slice(0, 16));

test.each([
  ['Europe/Berlin', '2027-03-27T10:00', '2027-03-27T09:00Z', ['2027-03-28T08:00', '2027-03-29T08:00']],
  ['Europe/Berlin', '2027-10-30T10:00', '2027-10-30T08:00Z', ['2027-10-31T09:00', '2027-11-01T09:00']],
  ['America/New_York', '2027-03-13T10:00', '2027-03-13T15:00Z', ['2027-03-14T14:00', '2027-03-15T14:00']],
  ['America/New_York', '2027-11-06T10:00', '2027-11-06T14:00Z', ['2027-11-07T15:00', '2027-11-08T15:00']],
  ['Australia/Lord_Howe', '2027-10-02T10:00', '2027-10-01T23:30Z', ['2027-10-02T23:00', '2027-10-03T23:00']],
  ['Asia/Kolkata', '2028-02-28T05:00', '2028-02-27T23:30Z', ['2028-02-28T23:30', '2028-02-29T23:30']],
  ['UTC', '2027-03-27T10:00', '2027-03-27T10:00Z', ['2027-03-28T10:00', '2027-03-29T10:00']],
])('a series in %s keeps its hour over a change of the clocks: %s [S120]', (timezone, local, date, expected) =>
  expect(instants(datesAfter(series(local, { timezone }), at(date), { most: 2 }))).toEqual(expected),
);

test('a time that the clocks skip moves forward on that day alone, a doubled one is the first [S120]', () => {
  const skipped = datesAfter(series('2027-03-27T02:30'), at('2027-03-27T01:30Z'), { most: 2 });
  expect(instants(skipped)).toEqual(['2027-03-28T01:30', '2027-03-29T00:30']);
  const [moved, after] = skipped; // the post of that day stands at half past three
  expect(instants(datesAfter({ ...series('2027-03-27T02:30'), local: moved!.local }, moved!.at, { most: 1 }))).toEqual([
    after!.at.toISOString().slice(0, 16),
  ]);
  expect(instants(datesAfter(series('2027-10-30T02:30'), at('2027-10-30T00:30Z'), { most: 2 }))).toEqual([
    '2027-10-31T00:30',
    '2027-11-01T01:30',
  ]);
});

test('a post that was moved gives the series its new time of day', () =>
  expect(instants(datesAfter(series('2027-05-01T10:00'), at('2027-05-01T16:45Z'), { most: 2 }))).toEqual([
    '2027-05-02T16:45',
    '2027-05-03T16:45',
  ]));

test('a series ends with its last date, and with the number of its dates', () => {
  const from = at('2027-05-01T08:00Z');
  const until = series('2027-05-01T10:00', { until: '2027-05-03T08:00:00.000Z' });
  expect(instants(datesAfter(until, from, { most: 9 }))).toEqual(['2027-05-02T08:00', '2027-05-03T08:00']);
  const left = series('2027-05-01T10:00', { left: 3 });
  expect(instants(datesAfter(left, from, { most: 9 }))).toEqual(['2027-05-02T08:00', '2027-05-03T08:00']);
  const between = (recurrence: Recurrence, start: string) =>
    datesBetween(recurrence, from, { from: at(start), to: at('2027-06-01T00:00Z') });
  expect(between(left, '2027-05-03T00:00Z')).toEqual([at('2027-05-03T08:00Z')]);
  expect(between(until, '2027-05-03T08:00:00.001Z')).toEqual([]);
  expect(followingDate(series('2027-05-01T10:00', { left: 1 }), from, from, DAY)).toBeUndefined();
});

test('the dates of a range are found however far ahead it is', () => {
  let looked = 0;
  const far = datesBetween(
    series('2027-05-01T10:00', { days: 'FREQ=WEEKLY' }),
    at('2027-05-01T08:00Z'),
    { from: at('2127-05-01T00:00Z'), to: at('2127-05-31T23:00Z') },
    (days) => void (looked += days),
  );
  expect(far.map((date) => date.getTime() - far[0]!.getTime())).toEqual([0, 7, 14, 21, 28].map((days) => days * DAY));
  expect(looked).toBeLessThan(70);
});

test('whoever asks for a range hears of each day that is looked at, also of those that are none, and may stop', () => {
  const leapDays = series('2027-05-01T10:00', { days: 'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29', left: 1_000 });
  const range = { from: at('2087-05-01T00:00Z'), to: at('2087-05-31T23:00Z') };
  let looked = 0;
  expect(datesBetween(leapDays, at('2027-05-01T08:00Z'), range, (days) => void (looked += days))).toEqual([]);
  expect(looked).toBeGreaterThan(60 * 365);
  const stop = () => {
    throw new Error('too many');
  };
  expect(() => datesBetween(leapDays, at('2027-05-01T08:00Z'), range, stop)).toThrow('too many');
});

describe('what follows a post', () => {
  const from = at('2027-05-01T08:00Z');
  const daily = series('2027-05-01T10:00');
  const weekly = series('2027-05-01T10:00', { days: 'FREQ=WEEKLY' });

  test('is the next date, which counts one less', () =>
    expect(followingDate({ ...daily, left: 5 }, from, from, DAY)).toEqual({
      at: at('2027-05-02T08:00Z'),
      local: '2027-05-02T10:00:00.000',
      skipped: [],
      recurrence: { ...daily, left: 4, local: '2027-05-02T10:00:00.000' },
    }));

  test('is the latest date that has gone by, and the dates before it are named', () =>
    expect(followingDate({ ...daily, left: 9 }, from, at('2027-05-04T09:00Z'), DAY)).toMatchObject({
      at: at('2027-05-04T08:00Z'),
      skipped: [at('2027-05-02T08:00Z'), at('2027-05-03T08:00Z')],
      recurrence: { left: 6 },
    }));

  test('is a date to come where the latest is too long ago to be meant', () => {
    const now = at('2027-05-20T08:00Z');
    const skipped = [at('2027-05-08T08:00Z'), at('2027-05-15T08:00Z')];
    expect(followingDate(weekly, from, now, DAY)).toMatchObject({ at: at('2027-05-22T08:00Z'), skipped });
    expect(followingDate(weekly, from, now, Infinity)).toMatchObject({ at: skipped[1], skipped: [skipped[0]] });
  });

  test('is found after years', () =>
    expect(followingDate(daily, from, at('2031-05-01T09:00Z'), DAY)?.at).toEqual(at('2031-05-01T08:00Z')));
});
