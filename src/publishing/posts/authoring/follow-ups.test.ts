import { expect, test } from '@jest/globals';
import { isValidValue } from './follow-ups.ts';
import { plugsOf } from '../../../providers/social/_plugs.ts';

test.each([
  ['^\\d{1,9}$', '10', true],
  ['^\\d{1,9}$', '', false],
  ['^\\d{1,9}$', '1\n', false],
  ['^\\d{1,9}$', '1 2', false],
  ['\\d+', 'a1', false], // the whole value
  ['^[\\s\\S]{3,}$', 'a\nb', true],
  ['^[\\s\\S]{3,}$', 'ab', false],
  [undefined, '', true],
])('the value of a plug must match its pattern as a whole: %s of %j', (pattern, value, fits) =>
  expect(isValidValue(pattern, value)).toBe(fits),
);

test('every pattern of a plug is one repeated class of characters, so that no value is built to backtrack', () => {
  const plugs = plugsOf('any', ['auto-repost', 'auto-comment', 'repost-from', 'comment-from']);
  const patterns = plugs.flatMap(({ fields }) => fields.flatMap(({ validation = '' }) => validation));
  for (const pattern of patterns) expect(pattern).toMatch(/^\^(\\d|\[[^\]]+\])(\{\d+,\d*\}|[+*])\$$/);
});
