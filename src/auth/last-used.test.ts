import { expect, test } from '@jest/globals';
import { systemClock } from '../kernel/index.ts';
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

test('notes travel together, one for each key in half a minute', async () => {
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

test('a write that fails is told and stops nothing', async () => {
  const { uses, failures } = notes(async () => {
    throw new Error('away');
  });
  uses.note('a', 'a1');
  await uses[Symbol.asyncDispose]();
  expect(failures).toEqual([new Error('away')]);
});
