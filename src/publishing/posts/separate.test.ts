import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { findInText } from '../../providers/registry/index.ts';
import { separateContent } from './separate.ts';

const bare = (text: string) => text.replace(/\s+/g, '');

describe('separateContent', () => {
  test.each<[string, string, number, string[]]>([
    ['a short text whole', '<p>Hello you</p>', 280, ['Hello you']],
    ['between words', 'one two three', 7, ['one two', 'three']],
    ['at a sentence that is not much shorter', 'One two. Three four five', 14, ['One two.', 'Three four', 'five']],
    ['between words where the sentence is too short', 'A. Three four five', 14, ['A. Three four', 'five']],
    ['at a line', '<p>one two</p><p>three four five</p>', 14, ['one two', 'three four', 'five']],
    ['a word that is too long', 'abcdefgh', 3, ['abc', 'def', 'gh']],
    ['nothing of an empty text', '<p> </p>', 10, []],
  ])('divides %s [S119]', (_, content, length, parts) => expect(separateContent(content, length)).toEqual(parts));

  test('never divides a link, a mention, a hashtag or a grapheme, and gives one that is too long a part of its own [S119]', () => {
    const link = 'https://a.example/a/very/long/address?with=more';
    expect(separateContent(`see ${link} now`, 20)).toEqual(['see', link, 'now']);
    expect(separateContent('hi @somebody@a.example yes', 12)).toEqual(['hi', '@somebody@a.example', 'yes']);
    expect(separateContent('#averylonghashtag', 5)).toEqual(['#averylonghashtag']);
    expect(separateContent('👨‍👩‍👧‍👦👨‍👩‍👧‍👦', 4)).toEqual(['👨‍👩‍👧‍👦', '👨‍👩‍👧‍👦']);
    expect(separateContent('ae\u0301b', 2)).toEqual(['a', 'e\u0301', 'b']);
  });

  test('keeps every sign in order, and every part in its length unless one piece is longer [S119]', () => {
    const piece = fc.oneof(
      fc.constantFrom(' ', '\n', '. ', '! ', 'https://a.example/b', '@ann', '#tag', '👨‍👩‍👧‍👦', 'e\u0301', '\u4f60'),
      fc.string({ maxLength: 12 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.integer({ min: 1, max: 60 }), (pieces, length) => {
        const text = pieces.join('').replace(/[<&]/g, '');
        const parts = separateContent(text, length);
        expect(bare(parts.join(''))).toBe(bare(text));
        const whole = new Set([
          ...findInText(text.trim()).map(({ start, end }) => text.trim().slice(start, end)),
          ...[...new Intl.Segmenter('en').segment(text)].map(({ segment }) => segment),
        ]);
        for (const part of parts) {
          expect(part.trim()).not.toBe('');
          if (part.length > length) expect([part, whole.has(part)]).toEqual([part, true]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('takes a time that grows with the text and no faster [S119]', () => {
    const worst = ['a '.repeat(50_000), 'a'.repeat(100_000), 'a b. '.repeat(20_000), ' '.repeat(100_000)];
    for (const text of worst)
      for (const length of [1, 2, 1_000, 99_999]) expect(separateContent(text, length).length).toBeLessThan(100_001);
  });
});
