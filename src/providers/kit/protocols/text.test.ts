import { describe, expect, test } from '@jest/globals';
import { countGraphemes, findInText, sameText, textLength } from './text.ts';

const found = (text: string) =>
  findInText(text).map(({ kind, value, start, end }) => [kind, value, text.slice(start, end)]);

describe('findInText', () => {
  test.each([
    ['see https://a.example/x, now', [['link', 'https://a.example/x', 'https://a.example/x']]],
    ['(https://a.example/x)', [['link', 'https://a.example/x', 'https://a.example/x']]],
    ['(https://a.example/w_(x))', [['link', 'https://a.example/w_(x)', 'https://a.example/w_(x)']]],
    ['(see https://a.example/w_(x)/y).', [['link', 'https://a.example/w_(x)/y', 'https://a.example/w_(x)/y']]],
    ['https://a.example/w_(x)!', [['link', 'https://a.example/w_(x)', 'https://a.example/w_(x)']]],
    [
      'https://a.example/#top @bob.test #Vögel',
      [
        ['link', 'https://a.example/#top', 'https://a.example/#top'],
        ['mention', 'bob.test', '@bob.test'],
        ['tag', 'Vögel', '#Vögel'],
      ],
    ],
    ['@bob@social.example: hi', [['mention', 'bob@social.example', '@bob@social.example']]],
    ['a mail to me@example.com, number #1, a&#39;b', []],
    ['👋🏽 @bob.test.', [['mention', 'bob.test', '@bob.test']]],
    ['#one#two', [['tag', 'one', '#one']]],
    ['http://', []],
  ])('%s', (text, expected) => {
    expect(found(text)).toEqual(expected);
  });
});

describe('textLength', () => {
  test('counts graphemes, characters and bytes, and links at a fixed length', () => {
    expect(countGraphemes('👩‍👩‍👧‍👦é')).toBe(2);
    expect(textLength('👩‍👩‍👧‍👦', { unit: 'graphemes' })).toBe(1);
    expect(textLength('👋🏽', { unit: 'characters' })).toBe(2);
    expect(textLength('Grüße', { unit: 'bytes' })).toBe(7);
    expect(textLength(`see https://example.org/${'x'.repeat(100)} now`, { unit: 'characters', linkLength: 23 })).toBe(
      4 + 23 + 4,
    );
  });
});

test.each([
  ['a mention of another server counts without it', 'hi @bob@social.example:3000, bye', 'hi @bob, bye'.length],
  ['a mention of the same server counts whole', 'hi @bob', 'hi @bob'.length],
  ['an emoji of several characters counts once', '👩‍👩‍👧‍👦👋🏽', 2],
  ['a link counts as 23, whatever stands in it', `https://a.example/@bob@social.example/${'x'.repeat(50)}`, 23],
  ['links and mentions count side by side', 'https://a.example/ @bob@social.example', 23 + ' @bob'.length],
])('textLength with short mentions: %s', (_, text, length) =>
  expect(textLength(text, { unit: 'graphemes', linkLength: 23, shortMentions: true })).toBe(length),
);

describe('sameText', () => {
  test.each([
    ['<p>Good <b>morning</b></p>', 'Good morning', true],
    [
      '<p>See <a href="https://www.a.example/long"><span>https://www.</span><span>a.example/long</span></a></p>',
      'See https://www.a.example/long',
      true,
    ],
    ['<p>Hi <span>@<span>bob</span></span></p>', 'Hi @bob@social.example', true],
    ['<p>A &amp; B &lt;3</p>', 'A & B <3', true],
    ['a <this> b', 'a <this> b', true],
    ['<p>Good evening</p>', 'Good morning', false],
    ['<p>Good morning 2</p>', 'Good morning', false],
  ])('%s', (html, plain, same) => {
    expect(sameText(html, plain)).toBe(same);
  });
});

// These functions read posts before they are stored: quadratic time would let one person stop the service.
describe('reading time grows less than quadratically with the text', () => {
  const pieces = ['<', '<a ', '</p> ', ' ', '@a ', '@a.', '#1', 'https://a.b ', ')', '&#1;', '\n'];
  const heads = ['', '<b>', 'https://a.b/'];
  const read = (text: string) => [
    findInText(text),
    textLength(text, { unit: 'characters', linkLength: 23, shortMentions: true }),
    sameText(text, text),
  ];
  /** Milliseconds of the processor, the least of three. */
  const costOf = (text: string) =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const before = process.cpuUsage();
        read(text);
        return process.cpuUsage(before).user / 1_000;
      }),
    );
  test.each(pieces)('for %j repeated', (piece) => {
    for (const head of heads) {
      const [small, large] = [20_000, 80_000].map((length) =>
        costOf(`${head}${piece.repeat(length / piece.length)}x`),
      ) as [number, number];
      expect([head, large < 150 || large < 9 * small]).toEqual([head, true]); // below that it is noise
    }
  });
});
