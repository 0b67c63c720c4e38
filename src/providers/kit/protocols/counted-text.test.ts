import { describe, expect, test } from '@jest/globals';
import { countText, type TextUnit } from './counted-text.ts';

describe('countText', () => {
  test.each<[TextUnit, string, number]>([
    ['weighted', '', 0],
    ['weighted', 'Grüße, мир', 10],
    ['weighted', '日本語', 6],
    ['weighted', '日'.repeat(140), 280],
    ['weighted', 'e\u0301', 1],
    ['weighted', '“quoted” – and…', 16],
    ['weighted', '👩‍👩‍👧‍👦', 2],
    ['weighted', '👋🏽', 2],
    ['weighted', '❤', 2],
    ['weighted', '❤️', 2],
    ['weighted', '🇨🇭 1️⃣', 5],
    ['weighted', '©', 1],
    ['weighted', `see https://example.org/${'x'.repeat(100)} now`, 4 + 23 + 4],
    ['weighted', 'example.com', 23],
    ['weighted', 'on www.example.org/a?b=c, too', 3 + 23 + 5],
    ['weighted', 'go.to/x', 23],
    ['weighted', 'end.Next 3.50 a@b.com', 21],
    ['utf16', '👋🏽', 4],
    ['characters', '👋🏽', 2],
    ['bytes', 'Grüße', 7],
    ['graphemes', '👩‍👩‍👧‍👦é', 2],
    ['emoji-bytes', 'hi 👋', 7],
    ['emoji-bytes', 'Grüße', 5],
    ['emoji-bytes', '👩‍👩‍👧‍👦', 25],
  ])('counts in %s %j as %i', (unit, text, length) => {
    expect(countText(text, { unit })).toBe(length);
  });

  test('counts a link at a fixed length, and graphemes up to a limit', () => {
    expect(countText('https://a.example/x now', { unit: 'characters', linkLength: 23 })).toBe(27);
    expect(countText('x'.repeat(100), { unit: 'graphemes' }, 10)).toBe(10);
  });
});
