import { z } from 'zod';
import {
  actorContract,
  implementFor,
  method,
  nudge,
  reminder,
  type Turn,
} from '../../../src/platform/actor-runtime/index.ts';

/** A reminder name with everything that a wire, a path or a database could trip over. */
export const ODD_NAME = 'rémind/me %2F ..\\ "quoted" 🪺 #1?\0\n|';

export const probe = actorContract('Probe', {
  methods: {
    run: method({ input: z.strictObject({ step: z.string(), value: z.unknown().optional() }), output: z.unknown() }),
    hush: method({ input: z.strictObject({ step: z.string() }) }),
    typed: method({
      input: z.strictObject({
        name: z.string().min(1).max(2_000_000),
        times: z.number().int().max(9).default(2),
        at: z.coerce.date(),
      }),
      output: z.strictObject({ length: z.number(), times: z.number(), at: z.coerce.date() }),
    }),
    wrong: method({ input: z.strictObject({}), output: z.strictObject({ sure: z.boolean() }) }),
    sum: method({
      input: z.strictObject({ n: z.number(), as: z.string().optional() }),
      output: z.strictObject({ n: z.number(), place: z.number(), size: z.number(), turn: z.number() }),
      batched: { max: 10 },
    }),
  },
  reminders: { ring: reminder, bell: reminder, [ODD_NAME]: reminder, poke: nudge },
});
/** An actor without a document: only its memory tells that it is there. */
export const plain = actorContract('Plain', {
  methods: { count: method({ input: z.strictObject({}), output: z.number() }) },
});

const State = z.object({ count: z.number().default(0), list: z.array(z.string()).default([]) });
export interface Memory {
  built: number;
  used: number;
}
export type ProbeTurn = Turn<typeof probe, z.output<typeof State>, Memory, ProbeNeeds>;
type Script = (turn: ProbeTurn, given: unknown) => unknown;
export interface ProbeNeeds {
  scripts: Map<string, Script>;
  built: Map<string, number>;
  spans: Span[];
}
/** A turn as it ran, in milliseconds of one monotonic clock. */
export interface Span {
  id: string;
  from: number;
  to: number;
}

/** What a test scripts: `on(id, step, …)` says what a turn of that actor does. */
export function probeNeeds() {
  const needs: ProbeNeeds = { scripts: new Map(), built: new Map(), spans: [] };
  const on = (id: string, step: string, script: Script) => void needs.scripts.set(`${id} ${step}`, script);
  /** Whether any two turns of one actor were under way at once. */
  const overlapped = (id: string) => {
    const spans = needs.spans.filter((span) => span.id === id).toSorted((a, b) => a.from - b.from);
    return spans.some((span, n) => n > 0 && span.from < spans[n - 1]!.to);
  };
  return { needs, on, overlapped };
}

async function play(turn: ProbeTurn, step: string, given: unknown): Promise<unknown> {
  const script = turn.ctx.scripts.get(`${turn.id} ${step}`);
  const from = performance.now();
  try {
    return await script?.(turn, given);
  } finally {
    turn.ctx.spans.push({ id: turn.id, from, to: performance.now() });
  }
}
const plays = (step: string) => async (turn: ProbeTurn, data: unknown) => void (await play(turn, step, data));

export const probeActor = implementFor<ProbeNeeds, Memory>()(probe, {
  state: State,
  async memory({ id, ctx }) {
    const built = (ctx.built.get(id) ?? 0) + 1;
    ctx.built.set(id, built);
    return { built, used: 0 };
  },
  methods: {
    run: ({ step, value }, turn) => play(turn, step, value),
    hush: async ({ step }, turn) => void (await play(turn, step, undefined)),
    typed: async ({ name, times, at }, turn) => (await play(turn, 'typed', at), { length: name.length, times, at }),
    wrong: async () => ({ sure: 'not at all' }) as unknown as { sure: boolean },
    async sum(inputs, turn) {
      turn.memory.used += 1;
      const scripted = await play(turn, 'sum', inputs);
      if (scripted) return scripted as never;
      return inputs.map(({ n }, place) => ({ n, place, size: inputs.length, turn: turn.memory.used }));
    },
  },
  reminders: { ring: plays('ring'), bell: plays('bell'), [ODD_NAME]: plays('odd'), poke: plays('poke') },
});

export const plainActor = implementFor<unknown, { calls: number }>()(plain, {
  state: z.object({}),
  memory: async () => ({ calls: 0 }),
  methods: { count: async (_, { memory }) => (memory.calls += 1) },
  reminders: {},
});
