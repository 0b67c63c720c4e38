import { describe, expect, test } from '@jest/globals';
import { closeOver } from './closing.ts';
import { CLOSE } from './connection.ts';

describe('closing connections for a restart', () => {
  test.each([[1], [150], [2_700], [10_000]])('%i are closed evenly, in no more than their time', async (count) => {
    let now = 0;
    // a timer lasts a millisecond at least, and is late by as much
    const clock = { monotonic: () => now, sleep: async (ms: number) => void (now += Math.max(1, ms) + 1) };
    const closed: { at: number; code: number }[] = [];
    const connections = Array.from({ length: count }, () => ({
      close: (code: number) => void closed.push({ at: now, code }),
    }));
    await closeOver(clock, connections, 3_000);
    expect(closed.every(({ code }) => code === CLOSE.restart)).toBe(true);
    expect(closed).toHaveLength(count);
    expect(now).toBeLessThanOrEqual(3_000);
    for (let from = 0; from < 3_000; from += 500) {
      const some = closed.filter(({ at }) => at >= from && at < from + 500).length;
      expect(some).toBeLessThanOrEqual(Math.ceil(count / 6) + Math.ceil(count / 100));
    }
  });
});
