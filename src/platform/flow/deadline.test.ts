import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../kernel/index.ts';
import { atMost } from './deadline.ts';

describe('atMost', () => {
  test('ends with the work, and leaves no timer behind', async () => {
    let timers = 0;
    const clock = {
      ...systemClock,
      sleep: async (ms: number, signal?: AbortSignal) => {
        timers += 1;
        await systemClock.sleep(ms, signal).finally(() => (timers -= 1));
      },
    };
    expect(await atMost(clock, 60_000, async () => 'done')).toBe(true);
    await new Promise((done) => setImmediate(done));
    expect(timers).toBe(0);
  });

  test('ends after the time when the work does not, and says so to the work', async () => {
    let signal: AbortSignal | undefined;
    expect(await atMost(systemClock, 5, (over) => ((signal = over), new Promise(() => {})))).toBe(false);
    expect(signal?.aborted).toBe(true);
  });

  test('rejects as the work does', () => expect(atMost(systemClock, 60_000, () => Promise.reject(new Error('no')))).rejects.toThrow('no'));
});
