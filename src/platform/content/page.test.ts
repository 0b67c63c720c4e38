import { expect, test } from '@jest/globals';
import { decodePage, readPageCard } from './page.ts';

const nothing = { title: '', description: '', picture: undefined };

test.each([
  [
    'its Open Graph before its title',
    '<title>Other</title><meta property="og:title" content="A"><meta name=description content="B"><meta content=/c.png property=og:image>',
    { title: 'A', description: 'B', picture: '/c.png' },
  ],
  ['its title without one', '<title>A &amp; B</title>', { ...nothing, title: 'A & B' }],
  [
    'entities of attributes',
    '<meta property="og:title" content="&lt;b&gt; &#x1F426;">',
    { ...nothing, title: '<b> 🐦' },
  ],
  [
    'the first of two',
    '<meta property=og:title content=A><meta property=og:title content=B>',
    { ...nothing, title: 'A' },
  ],
  ['one that is not empty', '<meta property=og:title content=" "><title>A</title>', { ...nothing, title: 'A' }],
  ['one line without marks that turn text', '<title>A\n\u202EB\u0000</title>', { ...nothing, title: 'A B' }],
  [
    'what stands before its end',
    '<title>A</title><meta property="og:description" content="B',
    { ...nothing, title: 'A' },
  ],
  ['nothing of scripts and comments', '<script>"<title>A</title>"</script><!-- <title>B</title> -->', nothing],
  ['no picture with an endless address', `<meta property=og:image content="${'a'.repeat(4_001)}">`, nothing],
])('a card has %s', (_, html, card) => {
  expect(readPageCard(html)).toEqual(card);
});

test('a card is short, however long the page', () => {
  const { title, description } = readPageCard(
    `<title>${'a'.repeat(100_000)}</title><meta name="description" content="${'b'.repeat(100_000)}">`,
  );
  expect([title.length, description.length]).toEqual([300, 1_000]);
});

test.each([
  ['of its type', 'text/html; charset=iso-8859-1', Buffer.from('\u00e9', 'latin1'), 'é'],
  [
    'of its beginning',
    'text/html',
    Buffer.from('<meta charset=iso-8859-1>\u00e9', 'latin1'),
    '<meta charset=iso-8859-1>é',
  ],
  ['that nobody knows, as UTF-8', 'text/html; charset=none', Buffer.from('é'), 'é'],
])('a page is read by the encoding %s', (_, type, bytes, text) => {
  expect(decodePage(bytes, type)).toBe(text);
});
