import { expect, test } from '@jest/globals';
import { briefWeek } from './rules.ts';

const monday = (zone: string, now: string) => briefWeek(new Date(now), zone).monday;

test.each([
  // clocks go back on Sunday, 25 October 2026, and forward on Sunday, 28 March 2027
  ['Europe/Berlin', '2026-10-19T05:59:59Z', '2026-10-19T06:00:00Z', '2026-10-19'],
  ['Europe/Berlin', '2026-10-26T06:59:59Z', '2026-10-26T07:00:00Z', '2026-10-26'],
  ['Europe/Berlin', '2027-03-22T06:59:59Z', '2027-03-22T07:00:00Z', '2027-03-22'],
  ['Europe/Berlin', '2027-03-29T05:59:59Z', '2027-03-29T06:00:00Z', '2027-03-29'],
  ['America/New_York', '2026-11-02T12:59:59Z', '2026-11-02T13:00:00Z', '2026-11-02'],
  ['Pacific/Kiritimati', '2026-11-22T17:59:59Z', '2026-11-22T18:00:00Z', '2026-11-23'],
  ['Pacific/Pago_Pago', '2026-11-23T18:59:59Z', '2026-11-23T19:00:00Z', '2026-11-23'],
  ['Nowhere/Atlantis', '2026-11-23T07:59:59Z', '2026-11-23T08:00:00Z', '2026-11-23'],
])('a week of %s ends on Monday at 08:00 by its clocks: not at %s, but at %s [NO20]', (zone, before, at, expected) => {
  const week = (text: string) => Date.parse(`${text}T00:00:00Z`);
  expect(monday(zone, at)).toBe(expected);
  expect(week(expected) - week(monday(zone, before))).toBe(7 * 86_400_000);
});

test('a week is as long as its clocks make it [NO20]', () => {
  const hours = (now: string) => {
    const { begins, ends, from, to } = briefWeek(new Date(now), 'Europe/Berlin');
    return [from, to, (ends.getTime() - begins.getTime()) / 3_600_000];
  };
  expect(hours('2026-10-27T12:00:00Z')).toEqual(['2026-10-19', '2026-10-25', 169]);
  expect(hours('2027-03-30T12:00:00Z')).toEqual(['2027-03-22', '2027-03-28', 167]);
  expect(hours('2026-11-26T12:00:00Z')).toEqual(['2026-11-16', '2026-11-22', 168]);
});
