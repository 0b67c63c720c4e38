import { expect, test } from '@jest/globals';
import { slotsOf } from './slots.ts';

const at = (text: string) => new Date(text);
const slots = (now: string, options: Partial<Parameters<typeof slotsOf>[0]> = {}) =>
  slotsOf({ minutes: [120, 400], timezone: 'UTC', now: at(now), ...options });
const slot = (...asked: Parameters<typeof slots>) =>
  slots(...asked)
    .next()
    .value?.toISOString();

test('the next posting time of today, else of tomorrow', () => {
  expect(slot('2026-05-05T01:00:00Z')).toBe('2026-05-05T02:00:00.000Z');
  expect(slot('2026-05-05T02:00:00Z')).toBe('2026-05-05T06:40:00.000Z');
  expect(slot('2026-05-05T23:00:00Z')).toBe('2026-05-06T02:00:00.000Z');
});
test('times follow one another for a year', () => {
  const all = [...slots('2026-05-05T01:00:00Z')];
  expect(all).toHaveLength(2 * 366);
  expect(all).toEqual(all.toSorted((a, b) => a.getTime() - b.getTime()));
});
test('times are meant in the zone, on its own day', () => {
  expect(slot('2026-05-05T22:30:00Z', { timezone: 'Europe/Berlin' })).toBe('2026-05-06T00:00:00.000Z');
  expect(slot('2026-01-05T22:30:00Z', { timezone: 'America/New_York', minutes: [1_080] })).toBe(
    '2026-01-05T23:00:00.000Z',
  );
});
test('a time that the clocks skip moves forward', () =>
  expect(slot('2026-03-29T00:30:00Z', { timezone: 'Europe/Berlin', minutes: [150] })).toBe('2026-03-29T01:30:00.000Z'));
test('a channel without times has no slot', () =>
  expect(slot('2026-05-05T01:00:00Z', { minutes: [] })).toBeUndefined());
