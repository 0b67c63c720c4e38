import { expect, test } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '../kernel/clock.ts';
import { holdClaims } from './held-claims.ts';

const LEASE_MS = 600;
const row = (id: string, claim = 1) => ({ id, claim });

/** Claims whose renewals a test answers. */
function holding(renew: (ids: readonly string[]) => readonly string[] | Promise<readonly string[]>) {
  const asked: string[][] = [];
  const failed: number[] = [];
  let now = 0;
  let look = () => {};
  let sleeping: { until: number; wake(): void }[] = [];
  const sleep = (ms: number) => new Promise<void>((wake) => sleeping.push({ until: now + ms, wake }));
  const every = (_ms: number, work: () => void) => {
    look = work;
    return { [Symbol.dispose]: () => {} };
  };
  const held = holdClaims<ReturnType<typeof row>>({
    clock: { ...systemClock, monotonic: () => now, every, sleep },
    leaseMs: LEASE_MS,
    renew: async (claims) => {
      const ids = claims.map(({ id }) => id);
      asked.push(ids);
      return new Set(await renew(ids));
    },
    onRenewError: (_, claims) => failed.push(claims),
  });
  const passes = async (ms: number) => {
    for (const end = now + ms; now < end;) {
      now += LEASE_MS / 6;
      look();
      for (const { until, wake } of sleeping) if (until <= now) wake();
      sleeping = sleeping.filter(({ until }) => until > now);
      await turn();
    }
  };
  return { held, asked, failed, passes };
}

test('claims are prolonged while they are held, and one that another process has is aborted', async () => {
  const { held, asked, passes } = holding(() => ['a']);
  using _held = held;
  const [a, b] = [held.take(row('a')), held.take(row('b'))];
  await passes(LEASE_MS / 2);
  expect(asked).toEqual([['a', 'b']]);
  expect([a.signal.aborted, b.signal.aborted]).toEqual([false, true]);
  held.drop(row('b'));
  held.drop(row('a', 2)); // of another claim of the same row
  expect(held.all()).toEqual([row('a')]);
  await passes(LEASE_MS / 2);
  expect(asked).toEqual([['a', 'b'], ['a']]);
});

test.each([
  [
    'cannot be prolonged',
    () => {
      throw new Error('away');
    },
  ],
  ['has no answer to its renewal', () => new Promise<never>(() => {})],
])('a claim that %s is aborted when its lease is over, and no earlier', async (_what, renew) => {
  const { held, failed, passes } = holding(renew);
  using _held = held;
  const { signal } = held.take(row('a'));
  await passes(LEASE_MS);
  expect(signal.aborted).toBe(false);
  await passes(LEASE_MS / 2);
  expect(signal.aborted).toBe(true);
  expect(failed.length).toBeGreaterThan(1);
});

test('claims are aborted by what they are of', () => {
  const { held } = holding(() => []);
  using _held = held;
  const [a, b] = [held.take(row('a')), held.take(row('b'))];
  held.abort(({ id }) => id === 'a', 'ended');
  expect([a.signal.aborted, b.signal.aborted]).toEqual([true, false]);
});
