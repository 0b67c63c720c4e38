import { describe, expect, test } from '@jest/globals';
import { outsideLine, outsideText } from './index.ts';

describe('outsideText', () => {
  test.each([
    ['without marks that turn what follows them', 'a\u202Eb\u202Cc\u2066d\u2069', 'abcd'],
    ['without control characters', 'a\0b\u001B[2Kc\u0085d', 'ab[2Kcd'],
    ['with its lines and tabs', ' a\tb\r\nc\n', 'a\tb\r\nc'],
    ['with letters that are written from right to left', '\u05D0\u05D1 \u200Fc', '\u05D0\u05D1 \u200Fc'],
    ['well formed', 'a\uD800', 'a\uFFFD'],
  ])('keeps a text %s', (_, text, kept) => expect(outsideText(text, 100)).toBe(kept));

  test('cuts a longer text between two characters', () => {
    expect(outsideText('👋'.repeat(10), 3)).toBe('👋👋👋');
  });
});

test('outsideLine keeps a text in one line', () => {
  expect(outsideLine(' a\n\u202E\u2028 b  c\t', 100)).toBe('a b c');
  expect(outsideLine('\u202E\n', 100)).toBe('');
});
