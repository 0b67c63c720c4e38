import { expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import type { Clock } from '../kernel/index.ts';
import { windowLimiter } from './limiter.ts';

/** Counts against one bucket. */
function limiterOf(clock: Clock) {
  const hitAll = windowLimiter(clock);
  return (bucket: string, limit: number, windowMs: number) => hitAll([{ bucket, limit, windowMs }])[0]!;
}

/** Two clocks that move apart: the steady one, and the one on the wall that somebody sets. */
function twoClocks() {
  let steady = 0;
  let wall = Date.UTC(2030, 0, 1);
  const clock: Clock = {
    now: () => new Date(wall),
    in: (ms) => new Date(wall + ms),
    monotonic: () => steady,
    sleep: () => Promise.resolve(),
    every: () => ({ [Symbol.dispose]: () => {} }),
  };
  return {
    clock,
    pass(ms: number) {
      steady += ms;
      wall += ms;
    },
    set(ms: number) {
      wall += ms;
    },
  };
}

const WINDOW = 1_000;
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('hit' as const),
      bucket: fc.constantFrom('a', 'b', 'c'),
      limit: fc.constantFrom(1, 3, 5),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 2 * WINDOW }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('set' as const), ms: fc.integer({ min: -86_400_000, max: 86_400_000 }) }),
  },
);

test('a window admits exactly its limit in any order of calls, and a changed clock has no effect [RL2]', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const { clock, pass, set } = twoClocks();
      const hit = limiterOf(clock);
      const model = new Map<string, { from: number; hits: number }>();
      for (const one of steps)
        if (one.kind === 'pass') pass(one.ms);
        else if (one.kind === 'set') set(one.ms);
        else {
          const now = clock.monotonic();
          const known = model.get(one.bucket);
          const window = known && now < known.from + WINDOW ? known : { from: now, hits: 0 };
          window.hits += 1;
          model.set(one.bucket, window);
          const { allowed, remaining, resetAt } = hit(one.bucket, one.limit, WINDOW);
          expect([allowed, remaining]).toEqual([window.hits <= one.limit, Math.max(one.limit - window.hits, 0)]);
          expect(resetAt.getTime() - clock.now().getTime()).toBe(window.from + WINDOW - now);
        }
    }),
    { numRuns: 400 },
  );
});

test('callers that never come back do not fill the memory, and counted callers stay counted', () => {
  const { clock, pass } = twoClocks();
  const hit = limiterOf(clock);
  for (let n = 0; n < 150_000; n += 1) hit(`gone ${n}`, 1, WINDOW);
  pass(61_000);
  hit('here', 1, 600_000);
  for (let n = 0; n < 190_000; n += 1) hit(`next ${n}`, 1, 600_000);
  expect(hit('here', 1, 600_000).allowed).toBe(false);
  for (let n = 0; n < 210_000; n += 1) hit(`more ${n}`, 1, 600_000);
  expect(hit('here', 1, 600_000).allowed).toBe(true); // the oldest have given way
});
