import { expect, test } from '@jest/globals';
import { fc } from '../../../../test/support/properties.ts';
import { Heap } from './heap.ts';

test('the heap returns its entries smallest first, without the dropped ones', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 50 }), fc.boolean()), { maxLength: 4_000 }), (given) => {
      const heap = new Heap<{ at: number; dropped: boolean }>();
      const items = given.map(([at]) => ({ at, dropped: false }));
      for (const item of items) heap.push(item);
      given.forEach(([, drop], n) => drop && heap.drop(items[n]!));
      const kept = given
        .filter(([, drop]) => !drop)
        .map(([at]) => at)
        .toSorted((a, b) => a - b);
      expect(heap.length).toBe(kept.length);
      expect(kept.map(() => heap.shift()?.at)).toEqual(kept);
      expect(heap.peek()).toBeUndefined();
      expect(heap.shift()).toBeUndefined();
    }),
  );
});
