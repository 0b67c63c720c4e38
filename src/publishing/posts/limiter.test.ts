import { expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import { Closed, openGate } from './limiter.ts';

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

test('whoever comes finds a turn while all calls of others hang, however many origins they hang at', async () => {
  const gate = openGate({ total: 64, perLane: 16 });
  for (let n = 0; n < 500; n++) void gate.enter('a', `hangs${n}`);
  await tick();
  expect(gate.inFlight).toBe(32);
  for (let org = 0; org < 5; org++) for (let n = 0; n < 100; n++) void gate.enter(`b${org}`, `b${org} hangs${n}`);
  await tick();
  expect(gate.inFlight).toBeLessThan(64);
  const leave = await gate.enter('c', 'healthy'); // and nobody has left
  leave();
});

test('calls in a lane whose last call hung count twice, until one of them answers', async () => {
  const gate = openGate({ total: 30, perLane: 30 });
  (await gate.enter('a', 'lane'))(true);
  const inside: ((hung?: boolean) => void)[] = [];
  for (let n = 0; n < 30; n++) void gate.enter('a', 'lane').then((leave) => inside.push(leave));
  await tick();
  expect(gate.inFlight).toBe(10); // 20 are free, and it holds 20
  inside.shift()!();
  await tick();
  while (inside.length > 0 && gate.waiting > 0) {
    inside.shift()!();
    await tick();
  }
  expect(gate.waiting).toBe(0);
});

test('an organization alone in the process goes on with every turn that comes back', async () => {
  const gate = openGate({ total: 8, perLane: 8 });
  let entered = 0;
  const calls = Array.from({ length: 100 }, (_, n) =>
    gate.enter('a', `lane${n % 3}`).then(async (leave) => {
      entered += 1;
      await tick();
      leave();
    }),
  );
  await Promise.all(calls);
  expect([entered, gate.inFlight, gate.waiting]).toEqual([100, 0, 0]);
});

test('no bound is ever broken, no turn is wasted, and nobody waits for ever', async () => {
  const action = fc.oneof(fc.record({ org: fc.nat(4), lane: fc.nat(3) }), fc.record({ leave: fc.nat(30), hung: fc.boolean() }));
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 3 }), fc.array(action, { maxLength: 120 }), async (total, perLane, actions) => {
      const gate = openGate({ total, perLane });
      const inside: { lane: number; org: number; weight: number; leave: (hung?: boolean) => void }[] = [];
      const hanging = new Set<number>();
      const waiting = new Map<string, number>();
      const waits = (org: number, lane: number, more = 0) => {
        const n = (waiting.get(`${org} ${lane}`) ?? 0) + more;
        waiting.set(`${org} ${lane}`, n);
        return n;
      };
      let entered = 0;
      let asked = 0;
      const check = async () => {
        await tick();
        const busy = (lane: number) => inside.filter((one) => one.lane === lane).length;
        const weight = (org: number) => inside.reduce((sum, one) => sum + (one.org === org ? one.weight : 0), 0);
        expect(inside.length).toBeLessThanOrEqual(total);
        for (let lane = 0; lane <= 3; lane++) {
          expect(busy(lane)).toBeLessThanOrEqual(perLane);
          if (busy(lane) === perLane) continue;
          for (let org = 0; org <= 4; org++) if (waits(org, lane) > 0) expect(weight(org)).toBeGreaterThanOrEqual(total - inside.length);
        }
      };
      const end = (place: number, hung: boolean) => {
        const [one] = inside.splice(place, 1);
        if (!one) return;
        if (hung) hanging.add(one.lane);
        else hanging.delete(one.lane);
        one.leave(hung);
      };
      for (const step of actions) {
        if ('leave' in step) end(step.leave % Math.max(inside.length, 1), step.hung);
        else {
          asked += 1;
          waits(step.org, step.lane, 1);
          void gate.enter(`org${step.org}`, `lane${step.lane}`).then((leave) => {
            entered += 1;
            waits(step.org, step.lane, -1);
            inside.push({ ...step, weight: hanging.has(step.lane) ? 2 : 1, leave });
          });
        }
        await check();
      }
      while (inside.length > 0) {
        end(inside.length - 1, false);
        await check();
      }
      expect(entered).toBe(asked);
      expect([gate.inFlight, gate.waiting]).toEqual([0, 0]);
    }),
    { numRuns: 300 },
  );
});
