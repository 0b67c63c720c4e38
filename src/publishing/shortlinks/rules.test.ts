import { expect, test } from '@jest/globals';
import { contentToText } from '../../platform/content/index.ts';
import { fc } from '../../../test/support/properties.ts';
import { PROVIDER_FAILURES } from '../../platform/kernel/index.ts';
import { writerOf } from '../../providers/registry/index.ts';
import { askAgainMs, isNoLonger, isShortAlready, linksOf, withShortLinks } from './rules.ts';

const A = 'https://shop.example/a?b=1&c=2';
const S = 'https://is.gd/1';

test.each([
  [`See ${A}.`, [A], `See ${S}.`],
  [`(${A}) "${A}", ${A}!`, [A], `(${S}) "${S}", ${S}!`],
  [`<p>See <a href="${A.replace('&', '&amp;')}">the shop</a></p>`, [A], `See the shop (${S})`],
  [`<a href='${A}'>${A}</a>`, [A], S],
  [`${A}&d=3 ${A}`, [`${A}&d=3`, A], `${A}&d=3 ${S}`],
  [
    '@shop.example #https mail@shop.example shop.example/a',
    [],
    '@shop.example #https mail@shop.example shop.example/a',
  ],
  ['https://ann:secret@shop.example/a ftp://shop.example', [], 'https://ann:secret@shop.example/a ftp://shop.example'],
  ['HTTPS://SHOP.example/A', ['HTTPS://SHOP.example/A'], 'HTTPS://SHOP.example/A'],
  ['https:// http://', [], 'https:// http://'],
  ['', [], ''],
])('links are found and replaced as people see them, and nothing else is: %s', (content, links, text) => {
  expect(linksOf(content)).toEqual(links);
  expect(withShortLinks(contentToText(content), [{ url: A, short: S }])).toBe(text);
});

test('every link of a content is replaced in each form of text: as text, behind a text, with entities', () => {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  const path = fc
    .array(
      fc.constantFrom('a', 'B', '1', '_', '*', '~', '|', '(b)', '%20', '?x=', '&y=', '&amp;', '#', '.', '/', 'é'),
      {
        maxLength: 8,
      },
    )
    .map((parts) => `https://long.example/${parts.join('')}z`);
  const around = fc.constantFrom(['', ''], ['<strong>', '</strong>'], ['<em>', '</em>'], ['(', ')'], ['', '.']);
  const piece = fc.tuple(path, around, fc.constantFrom('text', 'shown', 'hidden')).map(([url, [open, close], kind]) => {
    if (kind === 'text') return `${open} ${escaped(url)} ${close}`;
    return `${open}<a href="${escaped(url)}">${kind === 'shown' ? escaped(url) : 'our page'}</a>${close}`;
  });
  const block = fc.constantFrom(['<p>', '</p>'], ['<h1>', '</h1>'], ['<ul><li>', '</li></ul>']);
  const content = fc
    .array(fc.tuple(block, fc.array(piece, { minLength: 1, maxLength: 3 })), { minLength: 1, maxLength: 4 })
    .map((blocks) => blocks.map(([[open, close], pieces]) => open + pieces.join(' and ') + close).join(''));
  fc.assert(
    fc.property(content, (given) => {
      const urls = linksOf(given);
      const links = urls.map((url, n) => ({ url, short: `https://s.example/${n}` }));
      for (const textForm of ['plain', 'markdown', 'html', 'mrkdwn'] as const) {
        const { text, plain } = writerOf({ textForm })(given, (one) => withShortLinks(one, links));
        for (const written of [text, plain]) {
          expect(written).not.toContain('long.example');
          const found = new Set(written.match(/https:\/\/s\.example\/\d+/g));
          expect(found).toEqual(new Set(links.map(({ short }) => short)));
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('a short link is not looked into: what comes from a provider cannot make more links', () => {
  const links = [
    { url: 'https://a.example/', short: 'https://b.example/' },
    { url: 'https://b.example/', short: 'https://c.example/' },
    { url: 'https://d.example/', short: null },
  ];
  expect(withShortLinks('https://a.example/ https://b.example/ https://d.example/', links)).toBe(
    'https://b.example/ https://c.example/ https://d.example/',
  );
});

test('a text with very many links, or very long ones, has some left as they are', () => {
  const many = Array.from({ length: 40 }, (_, n) => `https://shop.example/${n}`);
  expect(linksOf(many.join(' '))).toEqual(many.slice(0, 25));
  expect(linksOf(`https://shop.example/${'x'.repeat(8_000)} ${A}`)).toEqual([A]);
});

test('what is of the domain of the provider is short already', () => {
  expect(isShortAlready('https://bit.ly/1', { facts: { defaultDomain: 'bit.ly' } }, {})).toBe(true);
  expect(
    isShortAlready('https://go.shop.example/1', { facts: { defaultDomain: 'bit.ly' } }, { domain: 'GO.shop.example' }),
  ).toBe(true);
  expect(
    isShortAlready(
      'https://shop.example/bit.ly',
      { facts: { defaultDomain: 'bit.ly' } },
      { domain: 'go.shop.example' },
    ),
  ).toBe(false);
  expect(isShortAlready('https://notbit.ly/1', { facts: {} }, {})).toBe(false);
});

test('a short link is used only where no network can count it longer than the long one', () => {
  expect(isNoLonger('https://is.gd/1', 'https://a.bc/xy')).toBe(true);
  expect(isNoLonger('https://is.gd/12', 'https://a.bc/xy')).toBe(false);
  // one character for some, four for others
  expect(isNoLonger('https://is.gd/123', 'https://a.bc/e\u0301\u0301\u0301')).toBe(false);
});

test('a link is asked for again only where none can have been made, or a repeat is answered the same', () => {
  const again = (repeatable: boolean) =>
    PROVIDER_FAILURES.filter((failure) => askAgainMs(failure, { attempt: 1, repeatable }) !== undefined);
  expect(again(false)).toEqual(['reauthorize', 'rate_limited', 'exhausted', 'unavailable']);
  expect(again(true)).toEqual(['reauthorize', 'rate_limited', 'exhausted', 'unavailable', 'lost']);
  const wait = (attempt: number, retryAfterMs?: number) =>
    askAgainMs('rate_limited', { attempt, repeatable: false, retryAfterMs });
  expect([wait(1), wait(2), wait(99), wait(1, 3_600_000), wait(3, 1)]).toEqual([
    60_000, 120_000, 900_000, 3_600_000, 300_000,
  ]);
});
