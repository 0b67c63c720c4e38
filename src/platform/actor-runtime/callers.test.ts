import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { actorContract, method } from './contract.ts';
import { actorsOf } from './callers.ts';
import { type Engine } from './engine.ts';

const contract = actorContract('Thing', {
  methods: {
    many: method({ input: z.strictObject({ text: z.string() }), output: z.string(), batched: { max: 100 } }),
    when: method({ input: z.strictObject({}), output: z.coerce.date() }),
  },
});

/** An engine that answers each input with itself, and tells what it was sent. */
function echo(batchBytes?: number) {
  const sent: number[] = [];
  const engine = {
    name: 'embedded',
    batchBytes,
    async invoke(_to, name, input) {
      if (name === 'when') return '2026-01-02T03:04:05.678Z';
      sent.push((input as unknown[]).length);
      return (input as { text: string }[]).map(({ text }) => ({ ok: true, value: text }));
    },
  } as Engine;
  return { actors: actorsOf(engine), sent };
}

test('a batch holds about `batchBytes` at most; a larger input travels alone, and the order stays', async () => {
  const { actors, sent } = echo(100);
  const texts = ['a', 'b', 'x'.repeat(500), 'c', 'y'.repeat(60), 'z'.repeat(60), 'd'];
  expect(await Promise.all(texts.map((text) => actors(contract, 'a').many({ text })))).toEqual(texts);
  expect(sent).toEqual([2, 1, 2, 2]);
});

test('calls of one tick travel together, those of different actors in separate batches', async () => {
  const { actors, sent } = echo();
  await Promise.all(
    [1, 2, 3].flatMap((n) => [
      actors(contract, 'a').many({ text: `${n}` }),
      actors(contract, 'b').many({ text: `${n}` }),
    ]),
  );
  expect(sent).toEqual([3, 3]);
});

test('the contract parses an answer that came over a wire', async () => {
  expect(await echo().actors(contract, 'a').when({})).toEqual(new Date('2026-01-02T03:04:05.678Z'));
});

test('an engine that fails fails every caller of the batch', async () => {
  const actors = actorsOf({ name: 'embedded', invoke: () => Promise.reject(new Error('gone')) } as unknown as Engine);
  const calls = await Promise.allSettled([1, 2].map(() => actors(contract, 'a').many({ text: '' })));
  expect(calls.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
