import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { cleanContent, taglessText } from '../../platform/content/index.ts';
import { htmlOf, readBlocks } from './blocks.ts';

const through = (html: string) => htmlOf(readBlocks(html));

describe('a content as blocks and back', () => {
  test.each([
    ['a paragraph', '<p>Hello</p>'],
    ['marks inside one another', '<p>a <strong>b <em>c</em></strong><u>d</u></p>'],
    ['a link with marks', '<p><a href="https://a.example/?x=1&amp;y=2"><strong>here</strong></a>!</p>'],
    ['headings', '<h1>One</h1><h2>Two</h2><h3>Three</h3>'],
    ['a line break', '<p>a<br>b</p>'],
    ['lists', '<ul><li><p>a</p></li><li><p>b</p><ol><li><p>c</p></li></ol></li></ul>'],
    ['a mention', '<p>by <span class="mention" data-type="mention" data-id="7" data-label="Ann">@Ann</span></p>'],
    ['signs of markup', '<p>1 &lt; 2 &amp;amp; 3 & 4</p>'],
    ['an empty paragraph', '<p>a</p><p></p><p>b</p>'],
  ])('%s comes back as it was', (_, html) => expect(through(html)).toBe(html));

  test.each([
    ['lines of a plain text', 'a\n\nb', '<p>a</p><p></p><p>b</p>'],
    ['text outside of paragraphs', 'a<p>b</p>c', '<p>a</p><p>b</p><p>c</p>'],
    ['items without paragraphs', '<ul><li>a</li></ul>', '<ul><li><p>a</p></li></ul>'],
    ['an item without a list', '<li>a</li>', '<ul><li><p>a</p></li></ul>'],
    [
      'a mention that shows another text',
      '<p><span data-mention-id="7" data-mention-label="Ann">you</span></p>',
      '<p><span class="mention" data-type="mention" data-id="7" data-label="Ann">you</span></p>',
    ],
    ['nothing', '', ''],
  ])('%s becomes blocks', (_, html, written) => {
    expect(through(html)).toBe(written);
    expect(through(written)).toBe(written);
  });

  test('whatever was written once comes back byte by byte, is clean, and has every text of what was read [S208]', () => {
    const text = fc.string({ maxLength: 12 });
    const piece = fc.oneof(
      text,
      fc.constantFrom('&', '&amp;', '&am', 'p;', '\n', ' ', '<', '>', '"', '@Ann', '&#60;', '<br>', '<p>', '</p>'),
      fc.constantFrom('<strong>', '</strong>', '<em>', '</em>', '<u>', '</u>', '<a href="https://a.example">', '</a>'),
      fc.constantFrom(
        '<ul>',
        '</ul>',
        '<ol>',
        '</ol>',
        '<li>',
        '</li>',
        '<h1>',
        '</h1>',
        '<h3>',
        '</h3>',
        '<div>',
        '</div>',
      ),
      fc.constantFrom(
        '<span data-id="7" data-label="Ann">',
        '<span data-type="mention">',
        '</span>',
        '<a href="javascript:x">',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const html = cleanContent(pieces.join(''));
        const written = through(html);
        expect(through(written)).toBe(written);
        expect(cleanContent(written)).toBe(written);
        const said = (content: string) => taglessText(content).replace(/\s+/g, '');
        expect(said(written)).toBe(said(html));
      }),
      { numRuns: 1_000 },
    );
  });
});
