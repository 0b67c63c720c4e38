import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../kernel/index.ts';
import { atMost } from './deadline.ts';

describe('atMost', () => {
  test('atMost ends with the work, and leaves no timer behind', async () => {
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

  test('atMost ends after the time limit, and aborts the work', async () => {
    let signal: AbortSignal | undefined;
    expect(await atMost(systemClock, 5, (over) => ((signal = over), new Promise(() => {})))).toBe(false);
    expect(signal?.aborted).toBe(true);
  });

  test('atMost rejects with the error of the work', () =>
    expect(atMost(systemClock, 60_000, () => Promise.reject(new Error('no')))).rejects.toThrow('no'));
});
