import type { Clock } from '../kernel/index.ts';
import type { Hit, RateBucket } from './port.ts';

/** Buckets kept at most. Beyond it the oldest go first: memory stays bounded whatever callers send. */
const MAX_BUCKETS = 200_000;

/**
 * Fixed windows in this process: the limiter of the in-process cache, and of a process whose Redis is away. Counts as
 * `hitAll`.
 */
export function windowLimiter(clock: Clock): (buckets: readonly RateBucket[]) => Hit[] {
  const windows = new Map<string, { count: number; endsAt: number }>();
  let sweepAt = 0;

  function sweep(now: number): void {
    sweepAt = now + 60_000;
    for (const [bucket, { endsAt }] of windows) if (endsAt <= now) windows.delete(bucket);
    for (const bucket of windows.keys()) {
      if (windows.size <= MAX_BUCKETS) break;
      windows.delete(bucket);
    }
  }

  function count({ bucket, windowMs }: RateBucket, now: number): { count: number; endsAt: number } {
    let window = windows.get(bucket);
    if (!window || window.endsAt <= now) {
      windows.delete(bucket); // so that the order of the map is the order of the starts
      windows.set(bucket, (window = { count: 0, endsAt: now + windowMs }));
    }
    window.count++;
    return window;
  }

  return (buckets) => {
    const now = clock.monotonic(); // the wall clock may be set back: a window would then last for as long
    if (now >= sweepAt || windows.size > MAX_BUCKETS + 1_000) sweep(now);
    const counted = buckets.map((bucket) => {
      const window = count(bucket, now);
      return { window, done: window.count, limit: bucket.limit };
    });
    if (counted.some(({ done, limit }) => done > limit))
      for (const { window, done, limit } of counted) if (done <= limit) window.count--;
    return counted.map(({ window, done, limit }) => ({
      allowed: done <= limit,
      remaining: Math.max(limit - done, 0),
      resetAt: clock.in(window.endsAt - now),
    }));
  };
}
