import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Closed, openGate } from './gate.ts';

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

test('a flood of one organization lets every other one through in turn', async () => {
  const gate = openGate({ total: 1, perLane: 1 });
  const order: string[] = [];
  const enter = (org: string) =>
    void gate.enter(org, 'lane').then(async (leave) => {
      order.push(org);
      await tick();
      leave();
    });
  for (let n = 0; n < 100; n++) enter('flood');
  for (const org of ['a', 'b', 'c']) enter(org);
  while (order.length < 103) await tick();
  expect(
    order
      .slice(0, 8)
      .filter((org) => org !== 'flood')
      .toSorted(),
  ).toEqual(['a', 'b', 'c']);
});

test('what hangs in one lane holds only that lane', async () => {
  const gate = openGate({ total: 10, perLane: 3 });
  for (let n = 0; n < 20; n++) void gate.enter(`org${n % 4}`, 'hangs');
  await tick();
  expect([gate.inFlight, gate.waiting]).toEqual([3, 17]);
  const leave = await gate.enter('org0', 'healthy');
  leave();
  expect(gate.inFlight).toBe(3);
});

test('whoever waits when the gate closes is sent away, and a turn given back twice counts once', async () => {
  const gate = openGate({ total: 1, perLane: 1 });
  const leave = await gate.enter('a', 'x');
  const waits = gate.enter('b', 'x');
  gate.close();
  await expect(waits).rejects.toBeInstanceOf(Closed);
  await expect(gate.enter('c', 'x')).rejects.toBeInstanceOf(Closed);
  leave();
  leave();
  expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
});

test('no bound is ever broken, no turn is wasted, and nobody waits for ever', async () => {
  const action = fc.oneof(fc.record({ org: fc.nat(4), lane: fc.nat(3) }), fc.record({ leave: fc.nat(30) }));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 3 }), fc.array(action, { maxLength: 120 }), async (total, perLane, actions) => {
      const gate = openGate({ total, perLane });
      const inside: { lane: number; leave: () => void }[] = [];
      const waiting = new Map<number, number>();
      let entered = 0;
      let asked = 0;
      const check = async () => {
        await tick();
        const busy = (lane: number) => inside.filter((one) => one.lane === lane).length;
        expect(inside.length).toBeLessThanOrEqual(total);
        for (let lane = 0; lane <= 3; lane++) {
          expect(busy(lane)).toBeLessThanOrEqual(perLane);
          if (inside.length < total && busy(lane) < perLane) expect(waiting.get(lane) ?? 0).toBe(0);
        }
      };
      for (const step of actions) {
        if ('leave' in step) inside.splice(step.leave % Math.max(inside.length, 1), 1)[0]?.leave();
        else {
          asked += 1;
          waiting.set(step.lane, (waiting.get(step.lane) ?? 0) + 1);
          void gate.enter(`org${step.org}`, `lane${step.lane}`).then((leave) => {
            entered += 1;
            waiting.set(step.lane, waiting.get(step.lane)! - 1);
            inside.push({ lane: step.lane, leave });
          });
        }
        await check();
      }
      while (inside.length > 0) {
        inside.pop()!.leave();
        await check();
      }
      expect(entered).toBe(asked);
      expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
    }),
    { numRuns: 150 },
  );
});
