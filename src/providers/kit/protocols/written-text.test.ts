import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../../test/support/properties.ts';
import { taglessText } from '../../../platform/content/index.ts';
import { contentToEntities, contentToMarkdown, contentToMrkdwn, contentToSimpleHtml } from './written-text.ts';

const RICH =
  '<h2>News</h2><p>One <strong>two</strong> <em>three</em> <u>four</u><br>five</p><ul><li>a</li><li>b<ol><li>c</li></ol></li></ul><p><a href="https://a.example/?x=1&amp;y=2">our <strong>page</strong></a></p>';

describe('contentToMarkdown', () => {
  test.each([
    [
      RICH,
      '## News\n\nOne **two** *three* four  \nfive\n\n- a\n- b\n   1. c\n\n[our](https://a.example/?x=1&y=2) **[page](https://a.example/?x=1&y=2)**',
    ],
    ['plain\ntext', 'plain  \ntext'],
    ['plain\n\ntext & more\n\n\n- end', 'plain\n\ntext \\& more\n\n\n\\- end'],
    ['<p>a\n\nb</p><p></p><p>c</p>', 'a  \nb\n\nc'],
    ['a*b_c [x](y) 1 > 0 `z` ~ | & \\', 'a\\*b\\_c \\[x\\](y) 1 \\> 0 \\`z\\` \\~ \\| \\& \\\\'],
    ['<p># one</p><p>- two</p><p>3. three</p><p>+ four</p>', '\\# one\n\n\\- two\n\n3\\. three\n\n\\+ four'],
    ['see https://a.example/x_y_z.', 'see <https://a.example/x_y_z>.'],
    ['<p><a href="https://a.example/">https://a.example/</a></p>', '<https://a.example/>'],
    ['<p><a href="https://a.example/a(b)">x</a></p>', '[x](https://a.example/a%28b%29)'],
    ['<p>a <strong> b </strong>c</p>', 'a  **b** c'],
  ])('writes %s', (content, markdown) => {
    expect(contentToMarkdown(content)).toBe(markdown);
  });
});

describe('contentToSimpleHtml', () => {
  test.each([
    [
      RICH,
      '<b>News</b>\n\nOne <b>two</b> <i>three</i> <u>four</u>\nfive\n\n- a\n- b\n   1. c\n\n<a href="https://a.example/?x=1&amp;y=2">our </a><a href="https://a.example/?x=1&amp;y=2"><b>page</b></a>',
    ],
    ['a < b & "c" > d', 'a &lt; b &amp; &quot;c&quot; &gt; d'],
    ['a\r\n\r\nb', 'a\n\nb'],
    ['a &lt;\n\nb', 'a &lt;\n\nb'],
    ['<p>a\n\nb</p><p></p><p></p><p>c</p>', 'a\nb\n\nc'],
  ])('writes %s', (content, html) => {
    expect(contentToSimpleHtml(content)).toBe(html);
  });
});

describe('contentToMrkdwn', () => {
  test.each([
    [
      RICH,
      '*News*\n\nOne *two* _three_ four\nfive\n\n- a\n- b\n   1. c\n\n<https://a.example/?x=1&amp;y=2|our> *<https://a.example/?x=1&amp;y=2|page>*',
    ],
    ['a < b & "c" > d', 'a &lt; b &amp; "c" &gt; d'],
    ['see https://a.example/x_y_z?a=1&b=|.', 'see <https://a.example/x_y_z?a=1&amp;b=%7C>.'],
    ['<p><a href="https://a.example/">https://a.example/</a></p>', '<https://a.example/>'],
    ['<p>a<strong>b</strong>c <em>d</em>, <strong><em>e</em></strong></p>', 'abc _d_, *_e_*'],
    ['<p>a <strong> b </strong>c</p>', 'a  *b* c'],
  ])('writes %s', (content, mrkdwn) => {
    expect(contentToMrkdwn(content)).toBe(mrkdwn);
  });
});

test.each([
  ['contentToMarkdown', contentToMarkdown, '**us** (a@a.example), *Ann (a@a.example)* a@a.example'],
  ['contentToSimpleHtml', contentToSimpleHtml, '<b>us</b> (a@a.example), <i>Ann (a@a.example)</i> a@a.example'],
  ['contentToMrkdwn', contentToMrkdwn, '*us* (a@a.example), _Ann (a@a.example)_ a@a.example'],
  [
    'contentToEntities',
    (html: string) => contentToEntities(html).text,
    'us (a@a.example), Ann (a@a.example) a@a.example',
  ],
])(
  '%s writes a mail link as text with its address, as networks link addresses of the web alone [T15]',
  (_, write, text) => {
    const link = (shown: string) => `<a href="mailto:a@a.example">${shown}</a>`;
    expect(write(`<p>${link('<strong>us</strong>')}, <em>${link('Ann')}</em> ${link('a@a.example')}</p>`)).toBe(text);
  },
);

describe('contentToEntities', () => {
  test('places styles in UTF-16 units, a style over several runs once', () => {
    const content = '<p>👋 <strong>a <em>b</em></strong> <a href="https://a.example/">c<u>d</u></a></p>';
    expect(contentToEntities(content)).toEqual({
      text: '👋 a b cd',
      entities: [
        { type: 'bold', offset: 3, length: 3 },
        { type: 'italic', offset: 5, length: 1 },
        { type: 'text_link', offset: 7, length: 2, url: 'https://a.example/' },
        { type: 'underline', offset: 8, length: 1 },
      ],
    });
  });
});

describe('any content', () => {
  const LINK = 'https://a.example/x_y';
  const text = fc.constantFrom(
    'a',
    'B',
    'ü',
    '👋',
    ' ',
    '*',
    '_',
    '[',
    ']',
    '(',
    ')',
    '<',
    '&',
    '&amp;',
    '>',
    '"',
    '`',
    '~',
    '|',
    '\\',
    '#',
    '!',
  );
  const inline = fc.tuple(
    fc.constantFrom(
      ['', ''],
      ['<strong>', '</strong>'],
      ['<em>', '</em>'],
      ['<u>', '</u>'],
      [`<a href="${LINK}">`, '</a>'],
    ),
    fc.array(text, { maxLength: 6 }).map((signs) => signs.join('').replaceAll('<', '&lt;')),
  );
  const block = fc.tuple(
    fc.constantFrom(
      ['<p>', '</p>'],
      ['<h1>', '</h1>'],
      ['<ul><li>', '</li></ul>'],
      ['<ol><li><p>', '</p></li></ol>'],
      ['', '<br>'],
    ),
    fc.array(inline, { maxLength: 4 }),
  );
  const content = fc
    .array(block, { maxLength: 4 })
    .map((blocks) =>
      blocks.map(([[open, close], runs]) => open + runs.map(([[a, b], t]) => a + t + b).join('') + close).join(''),
    );
  /** All signs but blanks and the marks of items, which are written by us. */
  const seen = (shown: string) => shown.replace(/^\s*(?:-|\d+\.) /gm, '').replace(/\s+/g, '');

  test('keeps each visible sign as simple HTML, whose every tag is one of the list', () => {
    fc.assert(
      fc.property(content, (given) => {
        const html = contentToSimpleHtml(given);
        const rest = html.replace(/<\/?[biu]>|<a href="https:\/\/a\.example\/x_y">|<\/a>/g, '');
        expect(rest).not.toMatch(/[<>]|&(?!(?:amp|lt|gt|quot);)/);
        expect(seen(taglessText(rest))).toBe(seen(taglessText(given)));
      }),
      { numRuns: 1_000 },
    );
  });

  test('keeps each visible sign and each link as text with entities', () => {
    fc.assert(
      fc.property(content, (given) => {
        const { text: written, entities } = contentToEntities(given);
        expect(seen(written)).toBe(seen(taglessText(given)));
        for (const { offset, length, type, url } of entities) {
          expect(written.slice(offset, offset + length)).not.toMatch(/^$|\n/);
          expect(url).toBe(type === 'text_link' ? LINK : undefined);
        }
        const linked = given
          .split(/<a [^>]*>/)
          .slice(1)
          .map((piece) => taglessText(piece.split('</a>')[0]!));
        const links = entities
          .filter(({ type }) => type === 'text_link')
          .map((e) => written.slice(e.offset, e.offset + e.length));
        expect(seen(links.join(''))).toBe(seen(linked.join('')));
      }),
      { numRuns: 1_000 },
    );
  });

  test('keeps each visible sign as markdown, and escapes those that could be markup', () => {
    // What a backslash protects is put aside; of the rest, our own markup is removed: nothing else may be left of it.
    const read = (markdown: string) => {
      const aside: string[] = [];
      const held = markdown.replace(/\\([^A-Za-z0-9\s])/g, (_, sign: string) =>
        String.fromCharCode(0xe000 + aside.push(sign) - 1),
      );
      const bare = held
        .replace(/^#{1,3} /gm, '')
        .replaceAll(`](${LINK})`, '')
        .replace(/[*[]/g, '');
      expect(bare).not.toMatch(/[\\`_\]<>|~&]/);
      return bare.replace(/[\uE000-\uF8FF]/g, (sign) => aside[sign.charCodeAt(0) - 0xe000]!);
    };
    fc.assert(
      fc.property(content, (given) => expect(seen(read(contentToMarkdown(given)))).toBe(seen(taglessText(given)))),
      { numRuns: 1_000 },
    );
  });
});
