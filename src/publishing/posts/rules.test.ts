import { describe, expect, test } from '@jest/globals';
import { arrivesWithin, retryDelay, settles, tooLongAgo } from './rules.ts';

describe('retries', () => {
  test('only what may be repeated is repeated, further apart each time, and not for ever', () => {
    expect(
      (['reauthorize', 'exhausted', 'rejected', 'unsupported', 'lost'] as const).map((failure) =>
        retryDelay(0, failure),
      ),
    ).toEqual([undefined, undefined, undefined, undefined, undefined]);
    const delays = Array.from({ length: 8 }, (_, failed) => retryDelay(failed, 'unavailable'));
    expect(delays).toEqual([10_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000, undefined, undefined]);
  });
  test('the network’s own delay counts, within a second and a day', () => {
    expect([
      retryDelay(0, 'rate_limited', 90_000),
      retryDelay(0, 'rate_limited', 1),
      retryDelay(0, 'unavailable', 10 ** 12),
    ]).toEqual([90_000, 1_000, 86_400_000]);
    // what was not enough before
    expect([1, 2, 3].map((failed) => retryDelay(failed, 'rate_limited', 1_000))).toEqual([10_000, 30_000, 120_000]);
  });
  test('what is surely absent is sent at once', () => expect(retryDelay(3, 'absent', 5_000)).toBe(0));
});

test('when absent counts: at once with a key or an id of our own, else after the call and ten seconds, or as the adapter says', () => {
  expect([
    settles({ once: 'key' }),
    settles({ once: 'own-id' }),
    settles({ once: 'read-back', timeoutMs: 5_000 }),
    settles({ once: 'two-phase' }),
    settles({ once: 'key', settlesWithinMs: 3 }),
  ]).toEqual([0, 0, 15_000, 70_000, 3]);
});

test('how long a lost request may arrive: as long as its call and ten seconds, unless the network settles later', () => {
  expect([
    arrivesWithin({ once: 'key', timeoutMs: 5_000 }),
    arrivesWithin({ once: 'own-id' }),
    arrivesWithin({ once: 'key', timeoutMs: 30_000, settlesWithinMs: 10_000 }),
    arrivesWithin({ once: 'own-id', timeoutMs: 10_000, settlesWithinMs: 30_000 }),
    arrivesWithin({ once: 'read-back', timeoutMs: 5_000, settlesWithinMs: 3 }),
  ]).toEqual([15_000, 70_000, 40_000, 30_000, 3]);
});

test('a date is too long ago after a day', () => {
  const now = new Date('2026-05-05T12:00:00Z');
  expect([
    tooLongAgo(new Date('2026-05-04T12:00:00Z'), now),
    tooLongAgo(new Date('2026-05-04T11:59:59Z'), now),
  ]).toEqual([false, true]);
});
