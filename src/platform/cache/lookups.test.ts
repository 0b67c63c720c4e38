import { expect, test } from '@jest/globals';
import { fc } from '../../../test/support/properties.ts';
import type { Clock } from '../kernel/index.ts';
import { briefLookups } from './lookups.ts';

/**
 * A clock that is moved by hand, and a table that is asked: each question is answered when the test says so, with what
 * was true when it was asked.
 */
function world() {
  let now = 0;
  const sleepers: { at: number; wake: () => void }[] = [];
  const clock: Clock = {
    now: () => new Date(now),
    in: (ms) => new Date(now + ms),
    monotonic: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ at: now + ms, wake })),
    every: () => ({ [Symbol.dispose]: () => {} }),
  };
  const truth = new Map<string, string>();
  const asked: { key: string; answer: (fault?: Error) => void }[] = [];
  const lookups = briefLookups<string>({
    clock,
    look: (key) => {
      const seen = truth.get(key);
      return new Promise((resolve, reject) =>
        asked.push({ key, answer: (fault) => (fault ? reject(fault) : resolve(seen)) }),
      );
    },
  });
  const settle = () => new Promise((done) => setImmediate(done));
  return {
    lookups,
    truth,
    asked,
    settle,
    now: () => now,
    async pass(ms: number) {
      now += ms;
      for (let n = sleepers.length - 1; n >= 0; n -= 1) if (sleepers[n]!.at <= now) sleepers.splice(n, 1)[0]!.wake();
      await settle();
    },
    async answerAll(fault?: Error) {
      for (const { answer } of asked.splice(0)) answer(fault);
      await settle();
    },
  };
}

async function knowing(...keys: string[]) {
  const it = world();
  for (const key of keys) it.truth.set(key, 'first');
  const got = Promise.all(keys.map((key) => it.lookups.get(key)));
  await it.answerAll();
  expect(await got).toEqual(keys.map(() => 'first'));
  return it;
}

test('keys in use are refreshed in the background, all together, and no request waits for it', async () => {
  const keys = ['a', 'b', 'c'];
  const { lookups, truth, asked, pass, answerAll } = await knowing(...keys);
  for (const key of keys) expect(await lookups.get(key)).toBe('first');
  await pass(499);
  expect(asked).toEqual([]);
  for (const key of keys) truth.set(key, 'second');
  await pass(100);
  expect(asked.map(({ key }) => key)).toEqual(keys); // one question for each, at one moment
  for (const key of [...keys, ...keys]) expect(await lookups.get(key)).toBe('first');
  await pass(100);
  expect(asked).toHaveLength(3);
  await answerAll();
  for (const key of keys) expect(await lookups.get(key)).toBe('second');
  expect(asked).toEqual([]);
});

test('a refresh of many keys is divided into parts', async () => {
  const keys = Array.from({ length: 500 }, (_, n) => `${n}`);
  const { lookups, asked, pass, answerAll } = await knowing(...keys);
  for (const key of keys) await lookups.get(key);
  const parts: number[] = [];
  for (let n = 0; n < 14; n += 1) {
    await pass(50);
    if (asked.length > 0) parts.push(asked.length);
    await answerAll();
  }
  expect(parts).toEqual([200, 200, 100]);
});

test('a key is refreshed for two seconds after its last use, and not at all after a single use', async () => {
  const { lookups, asked, pass, answerAll } = await knowing('once', 'twice');
  await lookups.get('twice');
  const again: number[] = [];
  for (let n = 1; n <= 40; n += 1) {
    await pass(100);
    if (asked.length > 0) again.push(n * 100);
    expect(asked.map(({ key }) => key)).toEqual(asked.map(() => 'twice'));
    await answerAll();
  }
  expect(again).toEqual([500, 1_000, 1_500]);
  void lookups.get('twice');
  expect(asked).toHaveLength(1); // too old: this request asks
  await answerAll();
});

test('a refreshed answer is valid for 900 ms from its request, like any other', async () => {
  const { lookups, asked, pass, answerAll } = await knowing('a');
  await lookups.get('a');
  await pass(500);
  await answerAll();
  await pass(499);
  await pass(400);
  await answerAll(new Error('away')); // the next one failed
  asked.length = 0;
  await pass(1);
  const late = lookups.get('a');
  expect(asked).toHaveLength(1);
  await answerAll();
  expect(await late).toBe('first');
});

test('a key without a value is not refreshed', async () => {
  const { lookups, asked, pass, answerAll } = await knowing('a');
  const nothing = lookups.get('guess');
  await answerAll();
  expect(await nothing).toBeUndefined();
  for (let n = 0; n < 8; n += 1) {
    expect(await lookups.get('guess')).toBeUndefined();
    await pass(100);
  }
  expect(asked).toEqual([]);
});

test('a key that is invalidated during its refresh does not come back', async () => {
  const { lookups, truth, asked, pass, answerAll } = await knowing('a');
  await lookups.get('a');
  await pass(600);
  expect(asked).toHaveLength(1); // with the old truth
  truth.delete('a');
  lookups.forget('a');
  await answerAll();
  const after = lookups.get('a');
  await answerAll();
  expect(await after).toBeUndefined();
});

test('a failing store is reported to the request that needs it, and asked again by the next', async () => {
  const { lookups, pass, answerAll } = await knowing('a');
  await lookups.get('a');
  await pass(600);
  await answerAll(new Error('away'));
  expect(await lookups.get('a')).toBe('first');
  await pass(300);
  await answerAll(new Error('away')); // of the second try
  const late = lookups.get('a');
  late.catch(() => {});
  await answerAll(new Error('away'));
  await expect(late).rejects.toThrow('away');
  const next = lookups.get('a');
  await answerAll();
  expect(await next).toBe('first');
});

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('get' as const), key: fc.constantFrom('a', 'b') }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 100, 450, 600) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('change' as const), key: fc.constantFrom('a', 'b'), gone: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: 'answer' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('forget' as const), key: fc.constantFrom('a', 'b', undefined) }),
  },
);

test('no answer is older than 900 ms or older than its invalidation, in any order of events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
      const { lookups, truth, now, pass, answerAll, settle } = world();
      const history = new Map(
        ['a', 'b'].map((key) => [key, [{ value: undefined as string | undefined, from: -Infinity }]]),
      );
      const forgotten = new Map<string, number>(); // the place in its history that a key had then
      let version = 0;
      for (const one of steps) {
        if (one.kind === 'pass') await pass(one.ms);
        else if (one.kind === 'answer') await answerAll();
        else if (one.kind === 'forget') {
          lookups.forget(one.key);
          for (const key of one.key === undefined ? ['a', 'b'] : [one.key])
            forgotten.set(key, history.get(key)!.length - 1);
        } else if (one.kind === 'change') {
          const value = one.gone ? undefined : `v${(version += 1)}`;
          if (value === undefined) truth.delete(one.key);
          else truth.set(one.key, value);
          history.get(one.key)!.push({ value, from: now() });
        } else {
          const own = history.get(one.key)!;
          const allowed = own
            .filter((_, n) => n >= (forgotten.get(one.key) ?? 0) && (own[n + 1]?.from ?? Infinity) >= now() - 900)
            .map(({ value }) => value);
          let answered = false;
          const got = lookups.get(one.key).then((value) => {
            answered = true;
            return value;
          });
          await settle();
          if (answered) expect(allowed).toContain(await got);
        }
      }
      await answerAll();
    }),
    { numRuns: 300 },
  );
});
