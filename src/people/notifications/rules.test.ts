import { describe, expect, test } from '@jest/globals';
import { completePreferences } from '../identity/index.ts';
import { afterQuiet, digestEnd, mailWindow, waysOf, zoneOfPerson } from './rules.ts';

const HOUR = 3_600_000;
const at = (iso: string): number => Date.parse(iso);
const iso = (instant: number): string => new Date(instant).toISOString();

describe('digestEnd', () => {
  test.each([
    ['Daily', 'Europe/Berlin', '2026-01-05T06:59:00Z', '2026-01-05T07:00:00.000Z'],
    ['Daily', 'Europe/Berlin', '2026-01-05T07:00:00Z', '2026-01-06T07:00:00.000Z'], // the window that ends now is over
    ['Daily', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-29T06:00:00.000Z'], // 23 hours
    ['Daily', 'Asia/Kathmandu', '2026-01-05T00:00:00Z', '2026-01-05T02:15:00.000Z'],
    ['Weekly', 'UTC', '2026-01-05T07:59:00Z', '2026-01-05T08:00:00.000Z'], // a Monday
    ['Weekly', 'UTC', '2026-01-05T08:00:00Z', '2026-01-12T08:00:00.000Z'],
    ['Weekly', 'Pacific/Auckland', '2026-01-04T18:00:00Z', '2026-01-04T19:00:00.000Z'],
    ['Daily', 'Nowhere/At_All', '2026-01-05T00:00:00Z', '2026-01-05T08:00:00.000Z'],
  ] as const)('%s in %s after %s is %s [S238]', (frequency, timezone, now, end) => {
    expect(iso(digestEnd(frequency, at(now), zoneOfPerson(timezone)))).toBe(end);
  });

  test('shows 08:00, of Mondays, of every zone from 2015 to 2040, and windows abut [S238]', () => {
    const faults: string[] = [];
    let seed = 7;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const [from, to] = [at('2015-01-01T00:00:00Z'), at('2040-01-01T00:00:00Z')];
    for (const timezone of Intl.supportedValuesOf('timeZone')) {
      const zone = zoneOfPerson(timezone);
      for (const [frequency, most] of [['Daily', 26] as const, ['Weekly', 170] as const]) {
        const now = Math.floor(from + random() * (to - from));
        const end = digestEnd(frequency, now, zone);
        const next = digestEnd(frequency, end, zone);
        const local = new Date(zone.localOf(end));
        const isRight =
          end > now &&
          end - now <= most * HOUR &&
          digestEnd(frequency, end - 1, zone) === end && // whoever asks within the window gets its end
          next > end &&
          (local.getUTCHours() === 8 || zone.localOf(end - 1) < zone.localOf(end) - HOUR) && // skipped by the clocks
          (frequency === 'Daily' || local.getUTCDay() === 1);
        if (!isRight) faults.push(`${timezone} ${frequency} ${iso(now)}: ${iso(end)}`);
      }
    }
    expect(faults).toEqual([]);
  });
});

describe('afterQuiet', () => {
  const night = { from: '22:00', to: '07:00' };
  const TWICE = { from: '22:00', to: '02:30' };
  test.each([
    ['over midnight, before it', night, 'UTC', '2026-01-05T23:00:00Z', '2026-01-06T07:00:00.000Z'],
    ['over midnight, after it', night, 'UTC', '2026-01-06T06:59:00Z', '2026-01-06T07:00:00.000Z'],
    ['their end is not quiet', night, 'UTC', '2026-01-06T07:00:00Z', '2026-01-06T07:00:00.000Z'],
    ['their beginning is', night, 'UTC', '2026-01-06T22:00:00Z', '2026-01-07T07:00:00.000Z'],
    ['within a day', { from: '12:00', to: '13:00' }, 'UTC', '2026-01-06T12:30:00Z', '2026-01-06T13:00:00.000Z'],
    ['in the zone of the person', night, 'America/New_York', '2026-01-06T04:00:00Z', '2026-01-06T12:00:00.000Z'],
    // 02:00 to 03:00 is there twice in Berlin, at first until 01:00Z
    ['at first', TWICE, 'Europe/Berlin', '2026-10-25T00:10:00Z', '2026-10-25T00:30:00.000Z'],
    ['between', TWICE, 'Europe/Berlin', '2026-10-25T00:40:00Z', '2026-10-25T00:40:00.000Z'],
    ['in the hour again', TWICE, 'Europe/Berlin', '2026-10-25T01:10:00Z', '2026-10-25T01:30:00.000Z'],
    ['after it', TWICE, 'Europe/Berlin', '2026-10-25T01:30:00Z', '2026-10-25T01:30:00.000Z'],
    ['none', null, 'UTC', '2026-01-06T23:00:00Z', '2026-01-06T23:00:00.000Z'],
  ] as const)('%s', (_, quiet, timezone, now, end) => {
    expect(iso(afterQuiet(at(now), quiet, zoneOfPerson(timezone)))).toBe(end);
  });
});

describe('mailWindow', () => {
  const zone = zoneOfPerson('UTC');
  const now = at('2026-01-06T12:00:00Z'); // a Tuesday
  const window = (
    category: string,
    digest: 'Instant' | 'Daily' | 'Weekly' | 'Never',
    quietHours: { from: string; to: string } | null = null,
  ) => mailWindow(completePreferences({ digest, quietHours }), { orgId: 'o', category, now, zone });
  const digest = (dueAt: string) => ({ kind: 'digest', dueAt: at(dueAt), isBurst: false });

  test('collects the mails of eligible categories and of no others [NO26, NO27, S238]', () => {
    for (const category of ['post_published', 'replies', 'media_jobs', 'analytics_alerts']) {
      expect(window(category, 'Daily')).toEqual(digest('2026-01-07T08:00:00Z'));
      expect(window(category, 'Weekly')).toEqual(digest('2026-01-12T08:00:00Z'));
      expect(window(category, 'Instant')?.isBurst).toBe(true);
    }
    for (const category of ['post_failed', 'channel_issues', 'ai_budget', 'announcements', 'streak_reminders'])
      for (const frequency of ['Daily', 'Weekly', 'Never'] as const)
        expect(window(category, frequency)?.isBurst).toBe(true);
  });
  test('sends none of eligible categories for Never [NO28]', () => {
    expect(window('post_published', 'Never')).toBeUndefined();
  });
  test('moves what would leave in quiet hours to their end', () => {
    expect(window('post_published', 'Daily', { from: '22:00', to: '09:30' })).toEqual(digest('2026-01-07T09:30:00Z'));
    expect(window('post_failed', 'Daily', { from: '11:00', to: '15:00' })).toEqual({
      kind: 'quiet',
      dueAt: at('2026-01-06T15:00:00Z'),
      isBurst: false,
    });
    const burst = (from: string) => window('post_failed', 'Daily', { from, to: '15:00' });
    expect(burst('12:05')).toMatchObject({ dueAt: at('2026-01-06T15:00:00Z'), isBurst: true, endsQuiet: true });
    expect(burst('12:11')).toMatchObject({ dueAt: at('2026-01-06T12:10:00Z'), isBurst: true, endsQuiet: false });
  });
});

describe('waysOf', () => {
  test('a master turns its way off, whatever the category says [NO22]', () => {
    const wishes = completePreferences({
      master: { email: false },
      categories: { replies: { email: true, push: true } },
    });
    expect(waysOf(wishes, 'replies')).toEqual({ email: false, push: true, inApp: true });
  });
  test('an unknown category follows the master, unless something was chosen for it [NO23]', () => {
    const wishes = completePreferences({ master: { push: false }, categories: { news: { inApp: false } } });
    expect(waysOf(wishes, 'unheard_of')).toEqual({ email: true, push: false, inApp: true });
    expect(waysOf(wishes, 'news')).toEqual({ email: true, push: false, inApp: false });
  });
  test('a notice that overrides obeys the masters alone [NO24, NO25]', () => {
    const wishes = completePreferences({ master: { push: false }, categories: { announcements: { email: false } } });
    expect(waysOf(wishes, 'announcements', true)).toEqual({ email: true, push: false, inApp: true });
  });
  test('a notice that overrides is no mail to those who have unsubscribed from its category [NO24, S181]', () => {
    const wishes = completePreferences({ unsubscribed: ['announcements'] });
    expect(waysOf(wishes, 'announcements', true)).toEqual({ email: false, push: true, inApp: true });
    expect(waysOf(wishes, 'storage', true)).toEqual({ email: true, push: true, inApp: true });
  });
});
