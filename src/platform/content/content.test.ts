import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { cleanContent, cleanContents, contentToText, shownText } from './index.ts';

describe('cleanContent', () => {
  test.each([
    ['<h1>A</h1><h2>B</h2><h3>C</h3><p>One <strong>two</strong> <em>three</em> <u>four</u><br>five</p>'],
    ['<ul><li><p>a</p></li><li>b</li></ul><ol><li>c<ul><li>d</li></ul></li></ol>'],
    ['<p>See <a href="https://a.example/?x=1&amp;y=2">our page</a></p>'],
    ['<p>Write to <a href="mailto:ann.b+1@mail.a.example">Ann</a></p>'],
    ['<p><span class="mention" data-mention-id="1" data-mention-label="Ann">@ann</span> hi</p>'],
    ['<span data-type="mention" class="mention" data-id="1" data-label="Ann">@ann</span>'],
    ['<p>&lt;b&gt; &amp; &#128075; &nbsp; &hellip;</p>'],
    ['plain text\nwith two lines, Q&A, https://a.example/?a=1&section=2 and 3 > 2'],
    ['<p></p><p> </p>\n'],
    ['👋 Grüße'],
    [''],
  ])('editor output is kept as sent: %s [T15]', (content) => expect(cleanContent(content)).toBe(content));

  test.each([
    ['<p>a <b>b</b> <blink>c</blink> <img src=x onerror=alert(1)>d</p>', '<p>a b c d</p>'],
    ['<p class="x" onclick="alert(1)" style="color:red">a</p>', '<p>a</p>'],
    ['<P>a<BR/>b</P>', '<p>a<br>b</p>'],
    ['<p>a<p>b', '<p>a</p><p>b</p>'],
    ['<ul><li>a<li>b</ul>', '<ul><li>a</li><li>b</li></ul>'],
    ['<strong><em>a</strong>b</em>', '<strong><em>a</em></strong>b'],
    ['a</p></ul></a>', 'a'],
    ['<div>a</div><blockquote>b</blockquote>', 'a<br>b<br>'],
    ['a <!-- b --> c <!doctype html> d <? e ?> f', 'a  c  d  f'],
    ['<script>alert(1)</script>a<style>p{}</style>b<iframe src=x><p>c</p></iframe>', 'ab'],
    ['<title>a &amp; b</title><textarea><p>c</p></textarea>', 'a &amp; b&lt;p>c&lt;/p>'],
    ['I <3 you, a < b <', 'I &lt;3 you, a &lt; b &lt;'],
    ['<<b>script>alert(1)</<b>/script>', '&lt;script>alert(1)/script>'],
    ['&<b>lt;script>', '&amp;lt;script>'],
    ['<a href="https://a.example/" target="_blank" rel="noopener">x</a>', '<a href="https://a.example/">x</a>'],
    [`<a href='https://a.example/?q="<b>'>x</a>`, '<a href="https://a.example/?q=&quot;&lt;b>">x</a>'],
    ['<a href=" HTTPS://a.example/ ">x</a>', '<a href="HTTPS://a.example/">x</a>'],
    [
      '<a href="https://a.example/"><a href="https://b.example/">x</a>y</a>',
      '<a href="https://a.example/"></a><a href="https://b.example/">x</a>y',
    ],
    [
      '<span style="x">a</span><span class="mention" onclick="x">@b<span>c</span>d</span>',
      'a<span class="mention">@bcd</span>',
    ],
    ['<svg><a href="https://a.example/"><script>x</script></svg>', '<a href="https://a.example/"></a>'],
    ['5 <b href="', '5 &lt;b href="'],
  ])('everything else is dropped and its text kept: %s [T15, X5]', (content, clean) => {
    expect(cleanContent(content)).toBe(clean);
    expect(cleanContent(clean)).toBe(clean);
  });

  test.each([
    'javascript:alert(1)',
    ' \u0001javascript:alert(1)',
    'java\nscript:alert(1)',
    '&#106;avascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:image/svg+xml;base64,PHN2Zz4=',
    'vbscript:x',
    'file:///etc/passwd',
    '//a.example/',
    '/settings',
    'https:/\\a b',
    'https://',
    `https://a.example/${'x'.repeat(4_000)}`,
    'mailto:',
    'mailto:ann',
    'mailto:@a.example',
    'mailto:ann@',
    'mailto:ann@a..example',
    'mailto:a@a.example,b@b.example',
    'mailto:a@a.example;b@b.example',
    'mailto:a@b@a.example',
    'mailto:ann@a.example?bcc=eve@b.example',
    'mailto:ann@a.example?subject=Hi%0D%0ABcc:eve@b.example',
    'mailto:?to=ann@a.example',
    'mailto:ann%40a.example',
    'mailto:ann%0d@a.example',
    'mailto:ann @a.example',
    'mailto:ann<@a.example',
    'mailto://ann@a.example',
    'mail\nto:ann@a.example',
    `mailto:${'x'.repeat(300)}@a.example`,
  ])('a link has a web address, or one mail address and nothing else, or is removed: %j [X5]', (href) =>
    expect(cleanContent(`<a href="${href}">x</a>`)).toBe('x'),
  );

  // The proof needs no parser: every `<` of the result begins a tag of the list, written by us.
  const TAG =
    /<(?:\/?(?:p|strong|em|u|a|ul|ol|li|h[123]|span)|br|a href="(?:https?:\/\/|mailto:(?!\/))[^"<]*"|span(?: (?:class|data-[a-z-]+)="[^"<]*")+)>/gi;
  test('any input leaves only allowed tags, and cleaning it again changes nothing [X5]', () => {
    const piece = fc.oneof(
      ...[
        '<',
        '>',
        '"',
        "'",
        '=',
        '/',
        ' ',
        '&',
        '&lt;',
        '&lt',
        '!--',
        '-->',
        '<![CDATA[',
        ']]>',
        '\n',
        'x',
        'lt;',
        '#60;',
        '\u2028',
      ].map(fc.constant),
      fc.constantFrom(
        'p',
        'script',
        'style',
        'a href=',
        'https://a.b',
        'mailto:a@b.c',
        'span class=mention',
        'li',
        'ul',
        'svg',
        'math',
        'title',
        'plaintext',
        'xmp',
        'div',
      ),
      fc.constantFrom(
        '<p>',
        '</p>',
        '<script>',
        '</script>',
        '<a href="https://a.b">',
        '<a href="mailto:a@b.c">',
        '</a>',
        '<li>',
        '<ul>',
        '</ul>',
        '<span data-id=1>',
        '<textarea>',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const clean = cleanContent(pieces.join(''));
        expect(clean.replace(TAG, '')).not.toContain('<');
        expect(cleanContent(clean)).toBe(clean);
        const opened = clean.match(/<[a-z](?!r>)/g)?.length ?? 0;
        expect(clean.match(/<\//g)?.length ?? 0).toBe(opened); // all are closed
      }),
      { numRuns: 3_000 },
    );
  });
});

test('the total input of one request is bounded, however it is divided', () => {
  const contents = (piece: string, count: number, times = 1) =>
    Array.from({ length: times }, (_, n) => ({ field: `posts.${n}.value.0.content`, content: piece.repeat(count) }));
  expect(cleanContents(contents('<p>a</p>', 100, 100))).toEqual(
    Array.from({ length: 100 }, () => '<p>a</p>'.repeat(100)),
  );
  expect(() => cleanContents(contents('<p>a</p>', 100, 101))).toThrow(
    'posts.100.value.0.content: more than 20000 tags and entities',
  );
  expect(() => cleanContents(contents('&', 20_001))).toThrow('more than 20000 tags and entities');
  const long = 'x'.repeat(90_000);
  expect(() => cleanContents([{ field: 'content', content: `${long}${'<'.repeat(3_000)}` }])).toThrow(
    'content: longer than 100000 characters',
  );
  expect(cleanContents([{ field: 'content', content: long }])).toEqual([long]);
});

describe('contentToText', () => {
  test.each([
    ['plain &amp; simple', 'plain & simple'],
    ['a < b and 3 > 2', 'a < b and 3 > 2'],
    ['https://a.example/?a=1&section=2&copy=3', 'https://a.example/?a=1&section=2&copy=3'],
    ['a\n\n\n\nb', 'a\n\n\n\nb'],
    ['<p>One</p><p>Two<br>Three</p>', 'One\nTwo\nThree'],
    ['One<p>Two</p>Three', 'One\nTwo\nThree'],
    ['<p>One</p><p></p><p></p><p></p><p>Two</p>', 'One\n\nTwo'],
    ['<ul><li><p>a</p></li><li>b</li></ul>', '- a\n- b'],
    ['<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><p>d</p>', '- a\n- b\n\n- c\n\nd'],
    [
      '<p>See <a href="https://a.example/?x=1&amp;y=2">https://a.example/?x=1&amp;y=2</a></p>',
      'See https://a.example/?x=1&y=2',
    ],
    ['<p>See <a href="https://a.example/">our page</a></p>', 'See our page (https://a.example/)'],
    [
      '<p>See <a href="https://a.example/"><strong>our</strong> <em>page</em></a></p>',
      'See our page (https://a.example/)',
    ],
    ['<p><a href="mailto:ann@a.example">Write us</a>!</p>', 'Write us (ann@a.example)!'],
    ['<p>Write to <a href="mailto:ann@a.example">ann@a.example</a></p>', 'Write to ann@a.example'],
    ['<p>Write to <a href="MAILTO:ann@a.example">mail ann@a.example!</a></p>', 'Write to mail ann@a.example!'],
    ['<p><a href="mailto:ann@a.example?bcc=eve@b.example">Write us</a></p>', 'Write us'],
    ['<p>Hi <span data-mention-id="1">@bob</span></p>', 'Hi @bob'],
    ['<p>&lt;b&gt; &#128075; &#x1F44B; &hellip; &mdash;</p>', '<b> 👋 👋 … —'],
    ['<script>alert(1)</script>', ''],
    ['<p>One <x&amp;', 'One <x&'],
    ['<ul>One\n <li>two', 'One\n - two'],
    ['<ul>&lt;\n <li>two', '<\n - two'],
  ])('%s', (html, text) => {
    expect(contentToText(html)).toBe(text);
    expect(contentToText(cleanContent(html))).toBe(text);
  });

  test('stored content gives the same text as sent content', () => {
    const piece = fc.constantFrom(
      '<p>',
      '</p>',
      '<b>',
      '<div>',
      '</div>',
      '<a href="https://a.b">',
      '<a href="mailto:a@b.c">',
      '</a>',
      'x',
      ' ',
      '\n',
      '&',
      'amp;',
      '<',
      '<li>',
      '<br>',
      '</ul>',
      '<ul>',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const html = `<p>${pieces.join('')}`;
        expect(contentToText(cleanContent(html))).toBe(contentToText(html));
      }),
      { numRuns: 2_000 },
    );
  });
});

// Contents come from anybody with an account: a cost that grows with the square of the length would stop the service
// for all.
describe('shownText', () => {
  test.each([
    ['<p>Hello<br />\nyou</p>\n<p>Bye</p>\n', 'Hello\nyou\n\nBye'],
    ['<p><span class="h-card"><a href="https://a.example/@ann">@<span>ann</span></a></span> hi</p>', '@ann hi'],
    ['<p>un<b>be</b>liev<code>able</code></p>', 'unbelievable'],
    [
      '<p>One</p><ul><li>two</li><li>three</li></ul><blockquote>four</blockquote>five',
      'One\n\ntwo\n\nthree\n\nfour\nfive',
    ],
    ['<p>a  \n  b</p><p></p><p>c</p>', 'a b\n\nc'],
    ['Tom &amp; Ann\n1 &lt; 2', 'Tom & Ann\n1 < 2'],
    ['<script>alert(1)</script>a', 'a'],
    ['', ''],
  ])('HTML is shown line by line: %j', (html, text) => expect(shownText(html)).toBe(text));
});

describe('cost of content parsing', () => {
  const pieces = [
    '<',
    '<a ',
    '<a href="x">',
    '<a href="" ',
    "<a href='",
    '<li',
    '</p> ',
    ' ',
    '&#1;',
    '\n',
    '<p>',
    '<ul><li>',
    '</em>',
    '<b>',
    '<!--',
    '&',
    '&a',
  ];
  const links = [
    '<a href="https://a.b">',
    '<a href="https://é',
    '<span data-id=1>',
    '<a a1 a2 a3 ',
    '&lt',
    '<u>',
    '</b>',
    '<div>',
    '<script>',
    '<svg ',
    '&<b>',
    'x<b>',
  ];
  const costOf = (content: string) =>
    Math.min(
      ...[1, 2, 3].map(() => {
        const before = process.cpuUsage();
        contentToText(cleanContent(content));
        return process.cpuUsage(before).user / 1_000;
      }),
    );
  test.each([...pieces, ...links])('%j repeated takes linear time', (piece) => {
    const [small, large] = [20_000, 80_000].map((length) =>
      costOf(`<u><em>${piece.repeat(length / piece.length)}x`),
    ) as [number, number];
    expect(large < 150 || large < 9 * small).toBe(true); // below that it is noise
  });
});
