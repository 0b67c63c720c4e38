import { expect, test } from '@jest/globals';
import { failureOfStatus, retryAfterMs } from './failures.ts';

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

test.each([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }, 60_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '999999' }, 86_400_000],
  [{ 'x-ratelimit-reset': '2026-01-01T00:05:00.000Z' }, 300_000],
  [{ 'ratelimit-reset': String(Date.UTC(2026, 0, 1, 0, 0, 30) / 1000) }, 30_000],
  [{ 'ratelimit-reset': '12' }, 12_000],
  [{}, undefined],
])('the wait of %j', (headers, expected) => {
  expect(retryAfterMs(new Headers(headers as Record<string, string>), new Date('2026-01-01T00:00:00Z'))).toBe(expected);
});
