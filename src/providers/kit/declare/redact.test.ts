import { expect, test } from '@jest/globals';
import { redactor } from './redact.ts';

test('replaces a secret in every encoding of the wire', () => {
  const secret = 'p/ss "word" ü+1';
  const clean = redactor([secret, undefined, '']);
  for (const form of [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret),
    Buffer.from(secret).toString('base64'),
  ])
    expect(clean(`before ${form} after`)).toMatch(/^before "?\*\*\*=*"? after$/);
  expect(clean('nothing in here')).toBe('nothing in here');
});
