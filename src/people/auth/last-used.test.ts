import { expect, test } from '@jest/globals';
import { systemClock } from '../../platform/kernel/index.ts';
import { lastUsed } from './last-used.ts';

function notes(write?: (notes: readonly string[]) => Promise<unknown>) {
  let time = 0;
  const written: (readonly string[])[] = [];
  const failures: unknown[] = [];
  const uses = lastUsed<string>({
    clock: { ...systemClock, monotonic: () => time },
    write: write ?? (async (some) => written.push(some)),
    failed: (error) => failures.push(error),
  });
  return { uses, written, failures, pass: (ms: number) => (time += ms) };
}

test('uses are written in batches, one for each key in half a minute', async () => {
  const { uses, written, pass } = notes();
  uses.note('a', 'a1');
  uses.note('a', 'a2');
  uses.note('b', 'b1');
  await uses.flush();
  uses.note('a', 'a3');
  await uses.flush();
  pass(30_000);
  uses.note('a', 'a4');
  await uses[Symbol.asyncDispose]();
  expect(written).toEqual([['a1', 'b1'], ['a4']]);
});

test('a flush includes earlier uses, also while a write is under way', async () => {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const order: string[] = [];
  const { uses } = notes(async (some) => {
    await answered;
    order.push(...some);
  });
  uses.note('a', 'a1');
  const first = uses.flush();
  await new Promise(setImmediate); // its statement is under way
  const second = uses.flush().then(() => order.push('second'));
  const end = uses[Symbol.asyncDispose]().then(() => order.push('end'));
  await new Promise(setImmediate); // whoever did not wait has gone on by now
  answer();
  await Promise.all([first, second, end]);
  expect(order).toEqual(['a1', 'second', 'end']);
});

test('a failed write is logged and does not stop later ones', async () => {
  const { uses, failures } = notes(async () => {
    throw new Error('away');
  });
  uses.note('a', 'a1');
  await uses[Symbol.asyncDispose]();
  expect(failures).toEqual([new Error('away')]);
});
