import { describe, expect, test } from '@jest/globals';
import { afterFailure, nextSlot, shownDays, soundCounts, soundPicture } from './rules.ts';

const DAY = 86_400_000;
const orgs = Array.from({ length: 500 }, (_, n) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`);

describe('nextSlot', () => {
  test('is once a day between 04:30 and 05:30 UTC, always the same for an organization', () => {
    const seen = orgs.map((orgId) => {
      const first = nextSlot(orgId, new Date('2026-11-26T23:00:00Z'));
      expect(nextSlot(orgId, first).getTime() - first.getTime()).toBe(DAY);
      expect(nextSlot(orgId, new Date(first.getTime() - 1))).toEqual(first);
      return first.toISOString();
    });
    expect(seen.every((at) => at >= '2026-11-27T04:30:00' && at < '2026-11-27T05:30:00')).toBe(true);
    expect(new Set(seen).size).toBeGreaterThan(400);
  });
});

describe('afterFailure', () => {
  test('is an hour later three times, then the next day', () => {
    const now = new Date('2026-11-26T05:00:00Z');
    const [orgId] = orgs as [string];
    const hour = { at: new Date('2026-11-26T06:00:00Z') };
    expect([0, 1, 2].map((attempts) => afterFailure({ orgId, attempts, now }))).toEqual([
      { ...hour, attempts: 1 },
      { ...hour, attempts: 2 },
      { ...hour, attempts: 3 },
    ]);
    expect(afterFailure({ orgId, attempts: 3, now })).toEqual({ at: nextSlot(orgId, now), attempts: 0 });
    expect(afterFailure({ orgId, attempts: 0, now }, 7_200_000).at).toEqual(new Date('2026-11-26T07:00:00Z'));
  });
});

test('soundCounts leaves out what cannot be a count', () => {
  const counts = { followers: 12, posts: 0, views: -1, likes: NaN, comments: 1e300, shares: 1.5, saves: undefined };
  expect(soundCounts(counts)).toEqual({ followers: 12, posts: 0 });
});

test('soundPicture takes addresses that a page may show', () => {
  expect(soundPicture('https://files.example/a.png')).toBe('https://files.example/a.png');
  for (const other of [
    undefined,
    '',
    'http://a.example/a.png',
    'data:image/png;base64,',
    `https://${'a'.repeat(2_000)}`,
  ])
    expect(soundPicture(other)).toBeNull();
});

test('shownDays are thirty unless others are asked for, and none that the plan does not show', () => {
  const now = new Date('2026-11-26T12:00:00Z');
  expect(shownDays({}, now, 180)).toEqual({ from: '2026-10-28', to: '2026-11-26' });
  expect(shownDays({ to: '2026-11-01' }, now, 180)).toEqual({ from: '2026-10-03', to: '2026-11-01' });
  expect(shownDays({ from: '2020-01-01' }, now, 180)).toEqual({ from: '2026-05-30', to: '2026-11-26' });
});
