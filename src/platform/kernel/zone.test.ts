import { expect, test } from '@jest/globals';
import { isTimezone, zoneOf } from './zone.ts';

const instantOf = (zone: string, local: string) =>
  new Date(zoneOf(zone).instantOf(Date.parse(`${local}Z`))).toISOString().slice(0, 16);

test.each([
  ['UTC', '2026-09-01T10:00', '2026-09-01T10:00'],
  ['Europe/Berlin', '2026-09-01T10:00', '2026-09-01T08:00'],
  ['Europe/Berlin', '2026-12-01T00:30', '2026-11-30T23:30'],
  ['America/New_York', '2026-09-01T23:00', '2026-09-02T03:00'],
  ['Asia/Kolkata', '2026-09-01T05:15', '2026-08-31T23:45'],
  ['Pacific/Kiritimati', '2026-09-01T10:00', '2026-08-31T20:00'],
  // the clocks skip from 02:00 to 03:00
  ['Europe/Berlin', '2026-03-29T01:59', '2026-03-29T00:59'],
  ['Europe/Berlin', '2026-03-29T02:00', '2026-03-29T01:00'],
  ['Europe/Berlin', '2026-03-29T02:30', '2026-03-29T01:30'],
  ['Europe/Berlin', '2026-03-29T03:00', '2026-03-29T01:00'],
  ['America/New_York', '2026-03-08T02:30', '2026-03-08T07:30'],
  ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:45'],
  // the hour from 02:00 comes twice: the first one counts
  ['Europe/Berlin', '2026-10-25T01:59', '2026-10-24T23:59'],
  ['Europe/Berlin', '2026-10-25T02:00', '2026-10-25T00:00'],
  ['Europe/Berlin', '2026-10-25T02:59', '2026-10-25T00:59'],
  ['Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00'],
  ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30'],
])('clocks in %s show %s at %s', (zone, local, instant) => expect(instantOf(zone, local)).toBe(instant));

test('a local time converts to an instant and back at every half hour of a year, except where clocks skip', () => {
  for (const name of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata']) {
    const zone = zoneOf(name);
    const start = Date.UTC(2026, 0, 1);
    const odd = Array.from({ length: 365 * 48 }, (_, n) => start + n * 1_800_000).filter(
      (local) => zone.localOf(zone.instantOf(local)) !== local,
    );
    expect([name, odd.length <= 2]).toEqual([name, true]);
  }
});

test.each(['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires'])('%s is a time zone', (text) =>
  expect(isTimezone(text)).toBe(true),
);
test.each(['', 'Mars/Olympus', '+01:00', '-05:00', 'Europe', 'Europe/Berlin '])('%j is no time zone', (text) =>
  expect(isTimezone(text)).toBe(false),
);
