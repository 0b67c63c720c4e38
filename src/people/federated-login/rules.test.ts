import { expect, test } from '@jest/globals';
import { tidy } from './rules.ts';

const ANN = { providerId: '1', email: 'ann@example.test', name: 'Ann', avatarUrl: 'https://cdn.example/ann.png' };

test('profile fields from a provider are stored in a displayable form', () => {
  expect(tidy(ANN)).toEqual(ANN);
  expect(tidy({ ...ANN, name: ` Ann\r\n\u202eMüller\u0000 ${'x'.repeat(200)}` }).name).toBe(
    `Ann Müller ${'x'.repeat(89)}`,
  );
  for (const email of [
    '',
    'ann',
    'ann@example',
    'ann@example.test\n',
    '\u0130nfo@example.test',
    `${'a'.repeat(250)}@example.test`,
  ])
    expect([email, tidy({ ...ANN, email }).email]).toEqual([email, null]);
});

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'ftp://cdn.example/a',
  '//cdn.example/a',
  'x',
  '',
  `https://cdn.example/${'a'.repeat(2_048)}`,
])('a picture without a web address is dropped: %s [X5]', (avatarUrl) =>
  expect(tidy({ ...ANN, avatarUrl }).avatarUrl).toBeNull(),
);
