import { expect, test } from '@jest/globals';
import { fc } from '../../test/support/properties.ts';
import { type Counted, overLimitOf } from './over-limit.ts';

const one = (id: string, day: number, kept = false): Counted => ({
  id,
  name: id,
  createdAt: new Date(Date.UTC(2026, 0, day)),
  kept,
});

test('the newest rows are picked first; of equal instants the greater id [S137]', () => {
  expect(overLimitOf([one('b', 2), one('a', 1), one('d', 3), one('c', 3)], 2).map(({ id }) => id)).toEqual(['d', 'c']);
  expect(overLimitOf([one('a', 1)], 1)).toEqual([]);
});

test('the oldest owner is kept even when the limit is zero', () => {
  expect(overLimitOf([one('owner', 9, true), one('first', 1), one('last', 5)], 2).map(({ id }) => id)).toEqual([
    'last',
  ]);
  expect(overLimitOf([one('owner', 9, true), one('first', 1)], 0).map(({ id }) => id)).toEqual(['first']);
});

test('exactly the excess is picked, whatever the order of the rows', () => {
  const rows = fc.uniqueArray(fc.record({ id: fc.uuid(), day: fc.integer({ min: 1, max: 5 }) }), {
    selector: ({ id }) => id,
    maxLength: 40,
  });
  fc.assert(
    fc.property(rows, fc.nat(45), (made, max) => {
      const counted = made.map(({ id, day }) => one(id, day));
      const gone = overLimitOf(counted, max);
      expect(gone).toHaveLength(Math.max(0, counted.length - max));
      expect(overLimitOf(counted.toReversed(), max)).toEqual(gone);
      const stays = counted.filter((each) => !gone.includes(each));
      for (const stayed of stays) for (const went of gone) expect(stayed.createdAt <= went.createdAt).toBe(true);
    }),
  );
});
