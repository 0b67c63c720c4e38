import { expect, test } from '@jest/globals';
import { newId, systemClock } from '../../platform/kernel/index.ts';
import { openAuthTokens } from './jwt.ts';

test('a token of a mail takes its reader off for two years, and for nothing else [S181]', async () => {
  let now = new Date('2026-01-01T00:00:00Z');
  const clock = { ...systemClock, now: () => now };
  const tokens = openAuthTokens({
    secret: 'a-secret-of-enough-characters-here',
    clock,
    log: { warn: () => undefined },
  });
  const claims = { sub: newId(), of: ['replies'] };
  const token = await tokens.signUnsubscribe(claims);
  expect(await tokens.verifySession(token)).toBeUndefined();
  now = new Date('2027-12-31T23:59:59Z');
  expect(await tokens.verifyUnsubscribe(token)).toEqual(claims);
  now = new Date('2028-01-01T00:00:00Z');
  expect(await tokens.verifyUnsubscribe(token)).toBeUndefined();
});
