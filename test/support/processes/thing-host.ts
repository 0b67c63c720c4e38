import { z } from 'zod';
import {
  type DaprEngine,
  type DaprEngineOptions,
  openDaprEngine,
} from '../../../src/platform/actor-runtime/dapr/index.ts';
import {
  actorContract,
  actorsOf,
  createHost,
  type Host,
  type HostLimits,
  implementFor,
  method,
  nudge,
  reminder,
} from '../../../src/platform/actor-runtime/index.ts';
import { AppError, newId, notFound, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../wire/database.ts';
import { type Answerer, askHost, startFakeSidecar } from '../wire/fake-sidecar.ts';
import { freePorts } from '../wire/ports.ts';
import { testLog } from './dapr-engine.ts';

/** Of a call that comes from a process of the same instance, as daprd passes it on. */
export const HOST_TOKEN = { 'dapr-api-token': 'app-secret', 'x-actor-caller': 'caller-secret' };
const thing = actorContract('Thing', {
  methods: {
    hold: method({ input: z.strictObject({ name: z.string() }), output: z.string() }),
    fail: method({ input: z.strictObject({ how: z.enum(['business', 'unknown']) }) }),
    count: method({ input: z.strictObject({ fail: z.boolean().optional() }), output: z.int() }),
    nothing: method({ input: z.strictObject({}), neighbours: z.strictObject({}) }),
    /** Others may ask for less than we. */
    ask: method({
      input: z.strictObject({ what: z.string(), as: z.string().optional() }),
      output: z.string(),
      neighbours: z.strictObject({ what: z.enum(['said', 'business', 'unknown']) }),
    }),
    plan: method({ input: z.strictObject({ name: z.string(), due: z.coerce.date() }) }),
  },
  reminders: { ring: reminder, poke: nudge },
});

/** Turns of `hold` wait until the test lets them end; `log` shows what overlapped. */
class Gate {
  readonly log: string[] = [];
  readonly held = new Map<string, () => void>();
  async pass(name: string): Promise<void> {
    this.log.push(`begin ${name}`);
    await new Promise<void>((done) => void this.held.set(name, done));
    this.log.push(`end ${name}`);
  }
  async has(name: string): Promise<void> {
    while (!this.held.has(name)) await systemClock.sleep(5);
  }
  open(name: string): void {
    this.held.get(name)!();
  }
}

const thingActor = implementFor<{ gate: Gate; fired: unknown[] }>()(thing, {
  state: z.object({ n: z.int().default(0) }),
  methods: {
    async hold({ name }, { ctx }) {
      await ctx.gate.pass(name);
      return name;
    },
    async fail({ how }) {
      throw how === 'business'
        ? new AppError('plan_required', 'Not on this plan', { feature: 'x' })
        : new Error('secret detail');
    },
    async count({ fail }, turn) {
      turn.state.n += 1;
      if (fail) throw notFound('nothing there');
      return turn.state.n;
    },
    async nothing() {},
    async ask({ what, as }) {
      if (what === 'business') throw new AppError('plan_required', 'Not on this plan');
      if (what === 'unknown') throw new Error('secret detail');
      return `${what} as ${as ?? 'nobody'}`;
    },
    plan: async ({ name, due }, { remind }) => remind(name as 'ring', due, { owner: 'org', data: { hint: 'ü' } }),
  },
  reminders: {
    async ring({ id, ctx }, data) {
      ctx.fired.push([id, data]);
      if (id === 'bad') throw new Error('no');
      if (id === 'slow') await ctx.gate.pass('ring');
    },
    poke: async ({ id, ctx }, data) => {
      ctx.fired.push([id, data]);
    },
  },
});

/** Path of a method of a thing, as daprd calls it. */
export const put = (id: string, name: string) => `/actors/Thing/${id}/method/${name}`;

/** Hosts of one actor type beside sidecars that are played, over one database. */
export async function openThingHosts() {
  const database = await testDatabase();
  const cleanUp: (() => Promise<unknown>)[] = [];
  return {
    sql: database.sql,
    /** What else a test has to end; the last one first. */
    cleanUp,
    /** A host, or a process without actors, and its sidecar. */
    async start({
      answer,
      limits,
      options = {},
      hosting = true,
    }: {
      answer?: Answerer;
      limits?: Partial<HostLimits>;
      options?: Partial<DaprEngineOptions>;
      hosting?: boolean;
    } = {}) {
      const fake = await startFakeSidecar(answer);
      cleanUp.push(() => fake[Symbol.asyncDispose]());
      const [port] = (await freePorts(1)) as [number];
      const engine: DaprEngine = await openDaprEngine({
        httpPort: fake.httpPort,
        grpcPort: fake.grpcPort,
        appPort: port,
        apiToken: 'api-secret',
        appToken: 'app-secret',
        callerToken: 'caller-secret',
        clock: systemClock,
        log: testLog,
        sql: database.sql,
        incarnation: newId(),
        types: ['Thing'],
        repeatMs: 400,
        ...options,
      });
      const gate = new Gate();
      const fired: unknown[] = [];
      const host: Host = createHost({
        implementations: [thingActor],
        needs: { gate, fired },
        actors: actorsOf(engine),
        clock: systemClock,
        log: testLog,
        ...(limits && { limits }),
      });
      const running = hosting ? await engine.host(host) : undefined;
      let drained: Promise<void> | undefined;
      const drain = () => (drained ??= Promise.resolve(running?.[Symbol.asyncDispose]()));
      cleanUp.push(() => engine.close(), drain);
      const ask = (verb: string, path: string, body?: unknown, headers: Record<string, string> = HOST_TOKEN) =>
        askHost(port, verb, path, {
          headers,
          ...(body !== undefined && verb.startsWith('P') && { body: JSON.stringify(body) }),
        });
      return { fake, engine, port, gate, fired, host, drain, ask, actors: actorsOf(engine) };
    },
    /** Ends what a test has started. */
    async end() {
      for (const clean of cleanUp.splice(0).toReversed()) await clean();
    },
    close: async () => database[Symbol.asyncDispose](),
  };
}
