import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { openDeletions } from './deletions.ts';

describe('deletions of a document', () => {
  test('hold exactly the clocks that were put in, whatever their order and overlap', () => {
    const range = fc.record({ clock: fc.nat(120), len: fc.nat(6) });
    const some = fc.array(range, { maxLength: 60 });
    fc.assert(
      fc.property(fc.array(some, { maxLength: 8 }), range, (adds, asked) => {
        const deletions = openDeletions(new Map());
        const clocks = new Set<number>();
        for (const ranges of adds) {
          deletions.add(new Map([[1, ranges]]));
          for (const { clock, len } of ranges) for (let n = 0; n < len; n += 1) clocks.add(clock + n);
        }
        const isHeld = Array.from({ length: asked.len }, (_, n) => clocks.has(asked.clock + n)).every(Boolean);
        expect(deletions.hold(new Map([[1, [asked]]]))).toBe(isHeld);
        expect(deletions.hold(new Map([[2, [asked]]]))).toBe(asked.len === 0);
      }),
      { numRuns: 500 },
    );
  });
});
