import { expect, test } from '@jest/globals';
import { dayAtRisk, dayIn, isStreakRunning } from './rules.ts';

test('dayAtRisk is yesterday from 20:00 on, by the clocks of the zone', () => {
  const zone = 'America/New_York'; // five hours behind UTC in winter
  expect(dayAtRisk(zone, new Date('2026-11-27T00:59:59Z'))).toBeUndefined();
  expect(dayAtRisk(zone, new Date('2026-11-27T01:00:00Z'))).toBe('2026-11-25');
  expect(dayAtRisk(zone, new Date('2026-11-27T04:59:59Z'))).toBe('2026-11-25');
  expect(dayAtRisk(zone, new Date('2026-11-27T05:00:00Z'))).toBeUndefined();
  expect(dayAtRisk('Pacific/Kiritimati', new Date('2026-12-31T06:00:00Z'))).toBe('2026-12-30');
});

test('dayIn and isStreakRunning follow the zone', () => {
  const now = new Date('2026-11-27T02:00:00Z');
  expect([dayIn('UTC', now), dayIn('America/New_York', now)]).toEqual(['2026-11-27', '2026-11-26']);
  expect(isStreakRunning('2026-11-26', 'UTC', now)).toBe(true);
  expect(isStreakRunning('2026-11-25', 'UTC', now)).toBe(false);
  expect(isStreakRunning('2026-11-25', 'America/New_York', now)).toBe(true);
});
