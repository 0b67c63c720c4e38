import { z } from 'zod';
import { type Actors, actorContract, implementFor, method } from '../../../src/platform/actor-runtime/index.ts';
import type { Ways } from './calls.ts';

/** An actor that does nothing, so that a call is all there is to measure. */
export const benchActor = actorContract('Bench', {
  methods: {
    empty: method({ input: z.strictObject({}) }),
    read: method({
      input: z.strictObject({ name: z.string() }),
      output: z.strictObject({ name: z.string(), count: z.int() }),
    }),
    add: method({ input: z.strictObject({ amount: z.int() }), output: z.int(), batched: { max: 500 } }),
  },
});

export const benchActorImplementation = implementFor<object, { count: number }>()(benchActor, {
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
export const waysOf = (actors: Actors): Ways => ({
  empty: (caller) => actors(benchActor, `caller-${caller}`).empty({}),
  read: (caller) => actors(benchActor, `caller-${caller}`).read({ name: 'x' }),
  batched: () => actors(benchActor, 'one-for-all').add({ amount: 1 }),
});
