import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { clockChangeOf, instantOfLocal, instantsOfLocals, isTimezone, localTimeOf } from './zone.ts';

const instantOf = (zone: string, local: string) => instantOfLocal(local, zone).toISOString().slice(0, 16);

test.each([
  ['UTC', '2026-09-01T10:00', '2026-09-01T10:00'],
  ['Europe/Berlin', '2026-09-01T10:00', '2026-09-01T08:00'],
  ['Europe/Berlin', '2026-12-01T00:30', '2026-11-30T23:30'],
  ['America/New_York', '2026-09-01T23:00', '2026-09-02T03:00'],
  ['Asia/Kolkata', '2026-09-01T05:15', '2026-08-31T23:45'],
  ['Asia/Kathmandu', '2028-02-29T05:45', '2028-02-29T00:00'],
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

test.each([
  ['Europe/Berlin', '2026-03-29T01:59:59.999', undefined],
  ['Europe/Berlin', '2026-03-29T02:00', 'skipped'],
  ['Europe/Berlin', '2026-03-29T02:59:59.999', 'skipped'],
  ['Europe/Berlin', '2026-03-29T03:00', undefined],
  ['Europe/Berlin', '2026-10-25T01:59', undefined],
  ['Europe/Berlin', '2026-10-25T02:00', 'doubled'],
  ['Europe/Berlin', '2026-10-25T02:59:59.999', 'doubled'],
  ['Europe/Berlin', '2026-10-25T03:00', undefined],
  ['America/New_York', '2026-03-08T02:30', 'skipped'],
  ['America/New_York', '2026-11-01T01:30', 'doubled'],
  ['Australia/Lord_Howe', '2026-10-04T02:15', 'skipped'],
  ['Australia/Lord_Howe', '2026-10-04T02:30', undefined],
  ['Asia/Kolkata', '2026-03-29T02:30', undefined],
  ['UTC', '2026-03-29T02:30', undefined],
])('the clocks of %s at %s: %s', (zone, local, change) => expect(clockChangeOf(local, zone)).toBe(change));

describe('compared with what Intl shows', () => {
  const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Pacific/Apia', 'UTC'];
  const formats = new Map(
    ZONES.map((timeZone) => [
      timeZone,
      new Intl.DateTimeFormat('en-CA-u-hc-h23', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
    ]),
  );
  const shown = (instant: number, zone: string) => formats.get(zone)!.format(instant).replace(', ', 'T');
  const MINUTE = 60_000;
  /** Looks at each minute of two days around for the first that shows the local time. */
  function slowly(local: string, zone: string): number | undefined {
    const around = Date.parse(`${local}Z`);
    for (let instant = around - 1_440 * MINUTE; instant <= around + 1_440 * MINUTE; instant += MINUTE)
      if (shown(instant, zone) === local) return instant;
    return undefined;
  }
  // near the changes of clocks, and anywhere
  const near = fc
    .constantFrom('2026-03-29T01:00', '2026-10-25T00:00', '2026-03-08T07:00', '2026-11-01T06:00', '2026-10-03T15:30')
    .chain((at) => fc.integer({ min: -300, max: 300 }).map((minutes) => Date.parse(`${at}Z`) + minutes * MINUTE));
  const anywhere = fc.integer({ min: Date.UTC(2015) / MINUTE, max: Date.UTC(2045) / MINUTE }).map((n) => n * MINUTE);

  test('a local time is that of its instant, and the instant the first that shows it; a skipped one moves on', () =>
    fc.assert(
      fc.property(fc.oneof(near, anywhere), fc.constantFrom(...ZONES), (time, zone) => {
        expect(localTimeOf(new Date(time), zone).slice(0, 19)).toBe(shown(time, zone));
        const local = new Date(time).toISOString().slice(0, 19);
        const expected = slowly(local, zone);
        const found = instantOfLocal(local, zone).getTime();
        if (expected !== undefined) expect(found).toBe(expected);
        else expect([clockChangeOf(local, zone), shown(found, zone) > local]).toEqual(['skipped', true]);
      }),
      { numRuns: 60 },
    ));
});

test.each(['Europe/Berlin', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Sao_Paulo', 'Asia/Kolkata', 'UTC'])(
  'many local times of %s, each day of years at an hour that its clocks skip, are as each of them alone',
  (zone) => {
    const locals = Array.from({ length: 3_000 }, (_, n) =>
      new Date(Date.UTC(2015, 0, 1, 2, 15) + n * 86_400_000).toISOString().slice(0, -1),
    );
    expect(instantsOfLocals(locals, zone)).toEqual(locals.map((local) => instantOfLocal(local, zone)));
    expect(instantsOfLocals(locals.toReversed(), zone)).toEqual(instantsOfLocals(locals, zone).toReversed());
  },
);

test('every zone that this platform knows has a local time', () => {
  for (const zone of Intl.supportedValuesOf('timeZone'))
    expect([zone, instantOfLocal(localTimeOf(new Date(0), zone), zone)]).toEqual([zone, new Date(0)]);
});

test.each(['Europe/Berlin', 'UTC', 'America/Argentina/Buenos_Aires'])('%s is a time zone', (text) =>
  expect(isTimezone(text)).toBe(true),
);
test.each(['', 'Mars/Olympus', '+01:00', '-05:00', 'Europe', 'Europe/Berlin '])('%j is no time zone', (text) =>
  expect(isTimezone(text)).toBe(false),
);
