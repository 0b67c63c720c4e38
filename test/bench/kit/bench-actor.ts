import { z } from 'zod';
import { type Actors, actorContract, implementFor, method } from '../../../src/platform/actor-runtime/index.ts';
import type { Ways } from './calls.ts';

/** An actor that does nothing, so that a call is all there is to measure; hosts that share a type share its actors. */
export const benchActorOf = (type: string) =>
  actorContract(type, {
    methods: {
      empty: method({ input: z.strictObject({}) }),
      read: method({
        input: z.strictObject({ name: z.string() }),
        output: z.strictObject({ name: z.string(), count: z.int() }),
      }),
      add: method({ input: z.strictObject({ amount: z.int() }), output: z.int(), batched: { max: 500 } }),
    },
  });
type BenchActor = ReturnType<typeof benchActorOf>;

export const implementationOf = (actor: BenchActor) =>
  implementFor<object, { count: number }>()(actor, {
    state: z.object({}),
    memory: async () => ({ count: 0 }),
    methods: {
      empty: async () => undefined,
      read: async ({ name }, { memory }) => ({ name, count: memory.count }),
      add: async (inputs, { memory }) => inputs.map(({ amount }) => (memory.count += amount)),
    },
    reminders: {},
  });

/** Each caller has an actor of its own, but for the batched calls, which all go to one. */
export const waysOf = (actors: Actors, actor: BenchActor): Ways => ({
  empty: (caller) => actors(actor, `caller-${caller}`).empty({}),
  read: (caller) => actors(actor, `caller-${caller}`).read({ name: 'x' }),
  batched: () => actors(actor, 'one-for-all').add({ amount: 1 }),
});
