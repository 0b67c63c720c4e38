import { describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '../kernel/index.ts';
import { type LoopOptions, startLoop } from './loop.ts';

const settled = () => new Promise<void>((done) => setImmediate(done));

/** A loop whose rounds and rests end when the test says so. */
function world(options: Partial<LoopOptions> = {}) {
  const rests: number[] = [];
  const rounds: { end(restMs?: number): void; fail(error: Error): void }[] = [];
  const told: unknown[] = [];
  let over = () => {};
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        rests.push(ms);
        over = resolve;
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const loop = startLoop({
    clock,
    restMs: 10,
    round: () => new Promise((resolve, reject) => rounds.push({ end: resolve, fail: reject })),
    onError: (error) => void told.push(error),
    ...options,
  });
  return { loop, rests, rounds, told, sleepOver: () => over() };
}

describe('startLoop', () => {
  test('the loop rests as long as a round returns, else for restMs, and not at all for 0', async () => {
    const { rests, rounds, sleepOver } = world();
    for (const ms of [5, undefined, 0]) {
      rounds.at(-1)!.end(ms);
      await settled();
      sleepOver();
      await settled();
    }
    expect([rests, rounds.length]).toEqual([[5, 10], 4]);
  });

  test('the loop waits for firstRestMs before the first round', async () => {
    const { rests, rounds, sleepOver } = world({ firstRestMs: 7 });
    await settled();
    expect([rests, rounds.length]).toEqual([[7], 0]);
    sleepOver();
    await settled();
    expect(rounds).toHaveLength(1);
  });

  test('a wake ends the rest; during a round it makes the next one follow at once', async () => {
    const { loop, rests, rounds } = world();
    rounds[0]!.end();
    await settled();
    loop.wake();
    await settled();
    expect([rests, rounds.length]).toEqual([[10], 2]);
    loop.wake();
    rounds[1]!.end();
    await settled();
    expect([rests, rounds.length]).toEqual([[10], 3]);
  });

  test('a round that throws is reported and rests as long as onError returns, also after a wake in between', async () => {
    const told: unknown[] = [];
    const { loop, rests, rounds, sleepOver } = world({
      onError: (error) => (told.push(error), told.length === 1 ? 99 : undefined),
    });
    loop.wake();
    rounds[0]!.fail(new Error('first'));
    await settled();
    sleepOver();
    await settled();
    rounds[1]!.fail(new Error('second'));
    await settled();
    expect([rests, told]).toEqual([
      [99, 10],
      [new Error('first'), new Error('second')],
    ]);
    loop.wake();
    await settled();
    expect(rounds).toHaveLength(3);
  });

  test('the end waits for the running round, does not report its failure, and releases the lease', async () => {
    const acts: string[] = [];
    const { loop, rests, rounds, told } = world({ lease: { release: async () => void acts.push('released') } });
    const end = loop[Symbol.asyncDispose]().then(() => acts.push('ended'));
    await settled();
    expect([acts, loop.signal.aborted]).toEqual([[], true]);
    rounds[0]!.fail(new Error('cut off'));
    await end;
    expect([acts, told, rests, rounds.length]).toEqual([['released', 'ended'], [], [], 1]);
  });

  test('the end of a resting loop is immediate, whether or not the lease can be released', async () => {
    const { loop, rounds } = world({ lease: { release: async () => Promise.reject(new Error('away')) } });
    rounds[0]!.end();
    await settled();
    await loop[Symbol.asyncDispose]();
    expect(rounds).toHaveLength(1);
  });
});
