import { expect, test } from '@jest/globals';
import { newTid } from './tid.ts';

const DAY = new Date(Date.UTC(2026, 0, 1));

test('newTid yields keys of thirteen characters that sort by time', () => {
  const keys = Array.from({ length: 200 }, (_, n) => newTid(new Date(DAY.getTime() + n), `post ${n}`));
  for (const key of keys) expect(key).toMatch(/^[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}$/);
  expect(keys.toSorted()).toEqual(keys);
});

test('newTid tells what is made in one millisecond apart by its name, and makes the same key of the same name', () => {
  expect(new Set(Array.from({ length: 500 }, (_, n) => newTid(DAY, `post ${n}`))).size).toBe(500);
  expect(newTid(DAY, 'post 1')).toBe(newTid(DAY, 'post 1'));
});
