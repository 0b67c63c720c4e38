import { expect, test } from '@jest/globals';
import { newTid } from './tid.ts';

test('newTid yields distinct keys of thirteen characters that sort by time', () => {
  const keys = Array.from({ length: 200 }, (_, n) => newTid(new Date(Date.UTC(2026, 0, 1) + n)));
  for (const key of keys) expect(key).toMatch(/^[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}$/);
  expect(keys.toSorted()).toEqual(keys);
  expect(new Set(Array.from({ length: 500 }, () => newTid(new Date(0)))).size).toBeGreaterThan(490);
});
