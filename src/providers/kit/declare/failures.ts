import type { ProviderFailure } from '../../../platform/kernel/index.ts';

/** Answers the failure of a status for which the adapter declares none; `creates` as in `Call`. */
export function failureOfStatus(status: number, creates: boolean): ProviderFailure {
  if (status === 401) return 'reauthorize';
  if (status === 402) return 'exhausted';
  if (status === 429) return 'rate_limited';
  if (status === 408 || status >= 500) return creates ? 'lost' : 'unavailable';
  return 'rejected';
}

const DAY_MS = 86_400_000;
/** A smaller number of seconds is a duration, a greater one a time since 1970. */
const SPAN_SECONDS = 100_000_000;

function waitOf(value: string | null, now: Date): number | undefined {
  if (!value) return undefined;
  const number = Number(value);
  const at = Number.isNaN(number)
    ? Date.parse(value)
    : number < SPAN_SECONDS
      ? now.getTime() + number * 1000
      : number * 1000;
  return Number.isNaN(at) ? undefined : Math.min(Math.max(at - now.getTime(), 0), DAY_MS);
}

/**
 * Reads how many milliseconds to wait from `Retry-After` (seconds or HTTP date), else from `RateLimit-Reset` in any of
 * its forms; a day at most.
 */
export const retryAfterMs = (headers: Headers, now: Date): number | undefined =>
  waitOf(headers.get('retry-after'), now) ??
  waitOf(headers.get('x-ratelimit-reset'), now) ??
  waitOf(headers.get('ratelimit-reset'), now);
