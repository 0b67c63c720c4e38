import { expect, test } from '@jest/globals';
import { failureOfStatus } from './failures.ts';

test.each([
  [401, 'reauthorize', 'reauthorize'],
  [402, 'exhausted', 'exhausted'],
  [403, 'rejected', 'rejected'],
  [404, 'rejected', 'rejected'],
  [408, 'unavailable', 'lost'],
  [413, 'rejected', 'rejected'],
  [422, 'rejected', 'rejected'],
  [429, 'rate_limited', 'rate_limited'],
  [500, 'unavailable', 'lost'],
  [503, 'unavailable', 'lost'],
])('status %i is %s, and %s where something is created', (status, safe, creating) => {
  expect([failureOfStatus(status, false), failureOfStatus(status, true)]).toEqual([safe, creating]);
});
