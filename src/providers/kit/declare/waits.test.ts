import { describe, expect, test } from '@jest/globals';
import { QUOTA_MS, quotaWaitMs, retryAfterMs, statedWaitMs } from './waits.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const at = (seconds: number) => String(NOW.getTime() / 1000 + seconds);
/** What is left of a limit of 24 hours at X, and when it begins anew. */
const dayOf = (whose: 'app' | 'user', left: number, seconds: number) => ({
  [`x-${whose}-limit-24hour-remaining`]: String(left),
  [`x-${whose}-limit-24hour-reset`]: at(seconds),
});
const usage = (...minutes: unknown[]) => ({
  'x-business-use-case-usage': JSON.stringify({
    '17': minutes.map((one) => ({ type: 'pages', call_count: 100, estimated_time_to_regain_access: one })),
  }),
});

describe('retryAfterMs', () => {
  test.each<[Record<string, string>, number | undefined]>([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }, 60_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after': '-3' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '999999' }, 86_400_000],
    [{ 'x-rate-limit-reset': at(900) }, 900_000],
    [{ 'x-rate-limit-reset': at(-5) }, 0],
    [{ 'x-rate-limit-reset': at(900), ...dayOf('user', 0, 7_200) }, 7_200_000],
    [{ 'x-rate-limit-reset': at(900), ...dayOf('app', 0, 3_600), ...dayOf('user', 0, 7_200) }, 7_200_000],
    [{ 'x-rate-limit-reset': at(900), ...dayOf('app', 3, 3_600), ...dayOf('user', 5, 7_200) }, 900_000],
    [{ 'x-rate-limit-reset': at(900), 'x-user-limit-24hour-remaining': '0' }, 900_000],
    [{ 'x-ratelimit-reset': at(20) }, 20_000],
    [{ 'x-ratelimit-reset': '594.0' }, 594_000],
    [{ 'x-ratelimit-reset': '2026-01-01T00:05:00.000Z' }, 300_000],
    [{ 'ratelimit-reset': at(30) }, 30_000],
    [{ 'ratelimit-reset': '12' }, 12_000],
    [{ 'x-ratelimit-reset-after': '1.25', 'x-ratelimit-reset': at(2) }, 1_250],
    [{ 'retry-after': 'soon', 'ratelimit-reset': '12' }, 12_000],
    [usage(0, 5, 3), 300_000],
    [usage(100_000), 86_400_000],
    [usage(0), undefined],
    [usage('x'), undefined],
    [{ 'x-business-use-case-usage': '{"17":' }, undefined],
    [{ 'x-business-use-case-usage': 'null' }, undefined],
    [{}, undefined],
  ])('reads from the headers %j the wait %p', (headers, expected) => {
    expect(retryAfterMs(new Headers(headers), NOW)).toBe(expected);
  });

  test.each<[unknown, number | undefined]>([
    [{ message: 'You are being rate limited.', retry_after: 64.57, global: false }, 64_570],
    [{ ok: false, error_code: 429, parameters: { retry_after: 35 } }, 35_000],
    [{ retry_after: -1 }, 0],
    [{ success: false, retry_after_minutes: 12 }, 720_000],
    [{ success: false, retry_after_seconds: 20, retry_after_minutes: 1 }, 20_000],
    [{ retry_after_minutes: '12' }, undefined],
    [{ retry_after: 99_999_999 }, 86_400_000],
    [{ retry_after: 'x', parameters: null }, undefined],
    ['Too Many Requests', undefined],
    [{ error: { details: [{ reason: 'RATE' }, { retryDelay: '37.5s' }] } }, 37_500],
    [{ error: { details: [{ retryDelay: 'soon' }] } }, undefined],
    [null, undefined],
  ])('reads from the body %j the wait %p', (body, expected) => {
    expect(retryAfterMs(new Headers(), NOW, body)).toBe(expected);
  });
});

describe('quotaWaitMs', () => {
  test.each([
    ['2026-11-28T10:00:00.500Z', { midnight: 'UTC' }, 50_400_000],
    ['2026-11-28T00:00:00Z', { midnight: 'UTC' }, 86_400_000],
    ['2026-11-28T07:59:59Z', { midnight: 'America/Los_Angeles' }, 1_000],
    ['2026-07-28T08:00:00Z', { midnight: 'America/Los_Angeles' }, 82_800_000],
    ['2026-11-28T10:00:00Z', { againMs: QUOTA_MS }, 14_400_000],
  ] as const)('at %s, a quota %j begins anew after %i ms', (now, quota, expected) => {
    expect(quotaWaitMs(quota, new Date(now))).toBe(expected);
  });
});

describe('statedWaitMs', () => {
  test('reads Retry-After only', () => {
    expect(statedWaitMs(new Headers({ 'retry-after': '7' }), NOW)).toBe(7_000);
    expect(statedWaitMs(new Headers({ 'x-rate-limit-reset': at(900) }), NOW)).toBeUndefined();
  });
});
