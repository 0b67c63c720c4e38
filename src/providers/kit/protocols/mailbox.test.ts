import { expect, test } from '@jest/globals';
import { asciiMailbox, encodedWords, isAddress, mailbox } from './mailbox.ts';

test('mailbox quotes a name, so that it cannot end the header', () => {
  expect(mailbox('', 'a@b.example')).toBe('a@b.example');
  expect(mailbox('Köln, "Süd" \\o/', 'a@b.example')).toBe('"Köln, \\"Süd\\" \\\\o/" <a@b.example>');
  expect(mailbox('Ann\r\nBcc: eve@evil.example', 'a@b.example')).toBe('"Ann Bcc: eve@evil.example" <a@b.example>');
});

test.each(['Ann', 'Köln', '世界'.repeat(40), '👩‍🚀'.repeat(30), 'a'.repeat(500)])(
  'asciiMailbox encodes %s in words of 75 ASCII characters that decode to it: %#',
  (name) => {
    expect(asciiMailbox(name, 'a@b.example')).toMatch(/^[\x20-\x7e]*$/);
    const words = encodedWords(name).split(' ');
    for (const word of words) expect(word.length).toBeLessThanOrEqual(75);
    const read = words.map((word) => Buffer.from(/^=\?UTF-8\?B\?(.*)\?=$/.exec(word)![1]!, 'base64').toString());
    expect(read.join('')).toBe(name);
  },
);

test('isAddress accepts exactly one address', () => {
  for (const one of ['a@b.example', 'ann+tag@mail.example.com', 'jürgen@köln.example'])
    expect([one, isAddress(one)]).toEqual([one, true]);
  for (const none of [
    '',
    'a',
    'a@',
    '@b',
    'a@b@c',
    'a@b, c@d',
    'a@b;c@d',
    'Ann <a@b.example>',
    'a@b.example\r\n',
    'a b@c',
    'a@[127.0.0.1]',
    `${'a'.repeat(400)}@b.example`,
    'a@b.example\u200B',
  ])
    expect([none, isAddress(none)]).toEqual([none, false]);
});
