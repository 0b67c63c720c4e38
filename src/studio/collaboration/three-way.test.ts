import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { mergeLists } from './three-way.ts';

function apply(base: string, ours: string, theirs: string) {
  const merged = [...ours];
  const { changes, met } = mergeLists([...base], [...ours], [...theirs]);
  for (const { at, remove, from, to } of changes) merged.splice(at, remove, ...[...theirs].slice(from, to));
  return { merged: merged.join(''), met };
}

describe('lists that two have changed', () => {
  test.each([
    ['nothing of ours', 'abc', 'abc', 'axc', 'axc', false],
    ['nothing of theirs', 'abc', 'axc', 'abc', 'axc', false],
    ['different entries', 'abcd', 'xbcd', 'abcy', 'xbcy', false],
    ['one entry', 'abc', 'axc', 'ayc', 'axc', true],
    ['an entry that they removed', 'abc', 'abcx', 'ac', 'acx', false],
    ['an entry that we removed and they changed', 'abc', 'ac', 'ayc', 'ac', true],
    ['entries put in by both', 'ab', 'axb', 'aby', 'axby', false],
    ['everything, where we have nothing', '', '', 'ab', 'ab', false],
    ['a new entry behind one that we changed', 'a', 'x', 'ab', 'xb', false],
    ['the beginning', 'ab', 'ab', 'xab', 'xab', false],
    ['one entry for two', 'abc', 'abcx', 'ayzc', 'ayzcx', false],
  ])('%s', (_, base, ours, theirs, merged, met) => expect(apply(base, ours, theirs)).toEqual({ merged, met }));

  test('become theirs where we changed nothing, and stay ours where they changed nothing', () => {
    const list = fc.string({ unit: fc.constantFrom(...'abcd'), maxLength: 12 });
    fc.assert(
      fc.property(list, list, (base, changed) => {
        expect(apply(base, base, changed)).toEqual({ merged: changed, met: false });
        expect(apply(base, changed, base)).toEqual({ merged: changed, met: false });
      }),
      { numRuns: 500 },
    );
  });
});
