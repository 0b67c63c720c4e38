import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { type BatcherOptions, openBatcher } from './batcher.ts';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Item {
  n: number;
  owner: string;
  weight: number;
}
/** A batcher whose batches end when the test says so. */
function world(options: Partial<BatcherOptions<Item>> = {}) {
  const sent: (readonly Item[])[] = [];
  const underWay: (() => void)[] = [];
  const push = openBatcher<Item>({
    max: 3,
    send: (batch) => {
      sent.push(batch);
      return new Promise((end) => underWay.push(end));
    },
    ...options,
  });
  let n = 0;
  return {
    sent,
    underWay,
    ask: (owner = 'a', weight = 1) => push({ n: n++, owner, weight }, owner),
    numbers: () => sent.map((batch) => batch.map((item) => item.n)),
  };
}

describe('openBatcher', () => {
  test('items of one tick are sent together, and later ones with the next batch', async () => {
    const { ask, underWay, numbers } = world();
    ask();
    ask();
    await tick();
    for (let n = 0; n < 4; n += 1) ask();
    await tick();
    expect(numbers()).toEqual([[0, 1]]);
    underWay[0]!();
    await tick();
    expect(numbers()).toEqual([
      [0, 1],
      [2, 3, 4],
    ]);
    underWay[1]!();
    await tick();
    expect(numbers().at(-1)).toEqual([5]);
  });

  test('the batcher keeps its number of batches under way, and reports when it is idle', async () => {
    let idle = 0;
    const { ask, underWay, numbers } = world({ atOnce: 2, max: 1, onIdle: () => (idle += 1) });
    for (let n = 0; n < 3; n += 1) ask();
    await tick();
    expect([numbers(), idle]).toEqual([[[0], [1]], 0]);
    for (let n = 0; n < 3; n += 1) {
      underWay[n]!();
      await tick();
    }
    expect([numbers(), idle]).toEqual([[[0], [1], [2]], 1]);
  });

  test('the batcher loses nothing, and keeps the order within an owner and every bound for items of any weight', async () => {
    const item = fc.record({ owner: fc.constantFrom('a', 'b', 'c'), weight: fc.nat(12) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(item, fc.constant('end' as const)), { maxLength: 80 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 3 }),
        async (steps, max, atOnce) => {
          const { sent, underWay, ask } = world({ max, atOnce, heaviest: 10, weigh: ({ weight }) => weight });
          let ended = 0;
          const asked = steps.filter((step) => step !== 'end').length;
          const end = async () => {
            if (ended < underWay.length) underWay[ended++]!();
            await tick();
            expect(underWay.length - ended).toBeLessThanOrEqual(atOnce);
          };
          for (const step of steps)
            if (step === 'end') await end();
            else ask(step.owner, step.weight);
          await tick();
          while (ended < underWay.length) await end();
          const items = sent.flat();
          expect(items.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(Array.from({ length: asked }, (_, n) => n));
          for (const owner of ['a', 'b', 'c']) {
            const own = items.filter((one) => one.owner === owner).map(({ n }) => n);
            expect(own).toEqual(own.toSorted((a, b) => a - b));
          }
          for (const batch of sent) {
            expect(batch.length).toBeLessThanOrEqual(max);
            if (batch.length > 1) expect(batch.reduce((sum, { weight }) => sum + weight, 0)).toBeLessThanOrEqual(10);
          }
        },
      ),
    );
  });
});
