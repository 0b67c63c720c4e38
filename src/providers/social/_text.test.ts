import { describe, expect, test } from '@jest/globals';
import { checkPost } from './_limits.ts';
import pixelfed from './pixelfed.v1.ts';
import { textFormOf, writerOf } from './_text.ts';

const RICH = '<p>One <strong>two</strong> &amp; <a href="https://a.example/?x=1&amp;y=2">page</a></p>';
const MENTION = '<p>Hi <span class="mention" data-mention-id="u_1" data-mention-label="Ann">@ann</span>!</p>';
const PICTURE = { contentType: 'image/jpeg', size: 1_000 };
const PAGE = 'One two & page (https://a.example/?x=1&y=2)';

describe('textFormOf', () => {
  test.each([
    [{}, 'plain'],
    [{ editor: 'normal' }, 'plain'],
    [{ editor: 'markdown' }, 'markdown'],
    [{ editor: 'html' }, 'html'],
    [{ textForm: 'mrkdwn' }, 'mrkdwn'],
    [{ editor: 'markdown', textForm: 'plain' }, 'plain'],
  ] as const)('reads %j as %s', (adapter, form) => expect(textFormOf(adapter)).toBe(form));
});

describe('writerOf', () => {
  test.each([
    ['plain', PAGE],
    ['markdown', 'One **two** \\& [page](https://a.example/?x=1&y=2)'],
    ['html', 'One <b>two</b> &amp; <a href="https://a.example/?x=1&amp;y=2">page</a>'],
    ['mrkdwn', 'One *two* &amp; <https://a.example/?x=1&amp;y=2|page>'],
  ] as const)('writes %s, and the plain text beside it', (textForm, text) => {
    const counted = textForm === 'html' ? 'One two & page' : text;
    expect(writerOf({ textForm })(RICH)).toEqual({ text, plain: PAGE, counted });
  });

  test('counts of HTML what it shows: marks, gaps, other addresses and written mentions, but no tags', () => {
    const mention = ({ id }: { id: string }) => `<a href="tg://user?id=${id}">&amp;${id}</a>`;
    const content = `<h1>A &lt; B</h1><p>See <a href="https://a.example/">it</a> https://a.example/</p><ul><li>c</li></ul>${MENTION}`;
    const { counted } = writerOf({ textForm: 'html', mention })(content, (text) =>
      text.replaceAll('a.example', 's.co'),
    );
    expect(counted).toBe('A < B\n\nSee it https://s.co/\n\n- c\n\nHi &u_1!');
  });

  test.each([
    ['plain', 'a\nb\n\n\nc'],
    ['markdown', 'a  \nb\n\n\nc'],
    ['html', 'a\nb\n\n\nc'],
    ['mrkdwn', 'a\nb\n\n\nc'],
  ] as const)('keeps the empty lines of a plain text, in %s', (textForm, text) => {
    expect(writerOf({ textForm })('\na\nb\n \n\nc\n').text.replaceAll(/^ $/gm, '')).toBe(text);
  });

  test.each([
    ['See https://a.example/x, and https://b.example.', 'See, and.'],
    ['https://a.example/', ''],
    [RICH, 'One two & page'],
    ['No link', 'No link'],
  ])('writes %j without links', (content, text) => {
    expect(writerOf({}, { withoutLinks: true })(content)).toEqual({ text, plain: text, counted: text });
    expect(writerOf({}, { withoutLinks: true })(content, (one) => one.replaceAll('a.example', 'c.example')).text).toBe(
      text,
    );
  });

  test('puts a space behind what would be cut out as a tag, and counts it', () => {
    const write = writerOf(pixelfed);
    expect(write('1 <2 < 3')).toEqual({ text: '1 < 2 < 3', plain: '1 <2 < 3', counted: '1 < 2 < 3' });
    const issuesOf = (content: string) =>
      checkPost(pixelfed.limits, { text: write(content).counted, files: [PICTURE] });
    expect(issuesOf(`<x${'y'.repeat(497)}`)).toEqual([]);
    expect(issuesOf(`<x${'y'.repeat(498)}`)).toMatchObject([{ field: 'content', rule: 'max_length' }]);
  });

  test('writes a plain text once', () => {
    const addresses: string[] = [];
    const { text, plain } = writerOf({ mention: () => '@x' })(RICH, (one) => {
      addresses.push(one);
      return one;
    });
    expect([text, addresses]).toEqual([plain, [PAGE]]);
  });

  test.each([
    ['plain', 'Hi @ann!', 'Hi @[Ann](u_1)!'],
    ['markdown', 'Hi @ann\\!', 'Hi @[Ann](u_1)!'],
    ['html', 'Hi @ann!', 'Hi @[Ann](u_1)!'],
    ['mrkdwn', 'Hi @ann!', 'Hi @[Ann](u_1)!'],
  ] as const)('writes a mention as the adapter does, in %s', (textForm, without, text) => {
    const mention = ({ id, label }: { id: string; label: string }) => `@[${label}](${id})`;
    expect(writerOf({ textForm, mention })(MENTION)).toMatchObject({ text, plain: 'Hi @ann!' });
    expect(writerOf({ textForm })(MENTION).text).toBe(without.replace('\\!', '!'));
  });

  test.each(['plain', 'markdown', 'html', 'mrkdwn'] as const)(
    'leaves what a mention shows where the adapter cannot write it, in %s',
    (textForm) => {
      expect(writerOf({ textForm, mention: () => undefined })(MENTION).text).toBe('Hi @ann!');
    },
  );

  test.each([
    ['the label of what has none is what it shows', '<span data-id="7">Bob</span>', '<7 Bob>'],
    [
      'one without text has its label',
      '<p>a <span data-mention-id="7" data-mention-label="Bob"></span></p>',
      'a <7 Bob>',
    ],
    ['one with styles inside is written once', '<span data-id="7">B<strong>o</strong><span>b</span></span>', '<7 Bob>'],
    ['the style around it stays', '<strong><span data-id="7">Bob</span></strong>', '**<7 Bob>**'],
    ['two are two', '<span data-id="7">A</span><span data-id="8">B</span>', '<7 A><8 B>'],
    ['a span that names nobody is text', '<span class="mention">@Bob</span>', '@Bob'],
  ])('reads mentions: %s', (_, content, text) => {
    const mention = ({ id, label }: { id: string; label: string }) => `<${id} ${label}>`;
    expect(writerOf({ textForm: 'markdown', mention })(content).text).toBe(text);
    expect(writerOf({ mention })(content).text).toBe(text.replaceAll('**', ''));
  });
});
