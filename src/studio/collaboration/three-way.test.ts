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
    ['entries around those that we removed', 'ab', '', 'xaybz', 'xyz', false],
    ['entries around one that we changed and one that we removed', 'cabc', 'cdc', 'cxaybzc', 'cxdyzc', false],
  ])('%s', (_, base, ours, theirs, merged, met) => expect(apply(base, ours, theirs)).toEqual({ merged, met }));

  test('keep what they put in, once each and in their order, whatever we removed', () => {
    const list = fc.uniqueArray(fc.constantFrom(...'abcdef'), { maxLength: 6 });
    const put = fc.array(fc.boolean(), { minLength: 7, maxLength: 7 });
    const gone = fc.array(fc.boolean(), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(list, put, gone, (base, isPut, isGone) => {
        const theirs = [...base, ''].map((entry, n) => `${isPut[n] ? n : ''}${entry}`).join('');
        const ours = base.filter((_, n) => !isGone[n]).join('');
        const { merged, met } = apply(base.join(''), ours, theirs);
        const entries = base.map((entry, n) => `${isPut[n] ? n : ''}${isGone[n] ? '' : entry}`).join('');
        expect({ merged, met }).toEqual({ merged: `${entries}${isPut[base.length] ? base.length : ''}`, met: false });
      }),
      { numRuns: 500 },
    );
  });

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
