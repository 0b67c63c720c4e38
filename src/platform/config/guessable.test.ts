import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { isGuessable } from './guessable.ts';

describe('isGuessable', () => {
  test.each([
    'a'.repeat(32),
    'ab'.repeat(32),
    '1234567'.repeat(8),
    '0123456789abcdef'.repeat(4),
    'abcdefghijklmnopqrstuvwxyz0123456789',
    '9876543210zyxwvutsrqponmlkjihgfedcba',
    'changeme'.repeat(5),
    'change-me-change-me-please-change-me!',
    'your-super-secret-jwt-key-change-this-in-production',
    'random string for your JWT secret, make it long',
    'random string that is unique to every install - just type random characters here!',
    'REPLACE_THIS_WITH_A_LONG_RANDOM_STRING_OF_32',
    'a-secret-of-more-than-thirty-two-characters',
    'supersecretpassword1234',
    'deadbeef'.repeat(8),
    'x'.repeat(30) + 'abcdefgh',
  ])('isGuessable is true for %s', (secret) => expect(isGuessable(secret)).toBe(true));

  test('isGuessable is false for random bytes in each usual form', () => {
    for (let n = 0; n < 500; n += 1)
      for (const form of ['hex', 'base64', 'base64url'] as const) {
        const secret = createHash('sha256').update(String(n)).digest(form);
        expect([secret, isGuessable(secret)]).toEqual([secret, false]);
      }
  });
});
