// A process with an engine for the benchmark `reminders`: an actor that does nothing when it is reminded.
import { z } from 'zod';
import { openDaprEngine } from '../../../src/platform/actor-runtime/dapr/index.ts';
import { openEmbeddedEngine } from '../../../src/platform/actor-runtime/embedded/index.ts';
import {
  actorContract,
  actorsOf,
  createHost,
  type Engine,
  implementFor,
  reminder,
  reminderOf,
} from '../../../src/platform/actor-runtime/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { answering } from '../kit/answering.ts';

interface Setup {
  databaseUrl: string;
  dapr?: { httpPort: number; grpcPort: number; appPort: number; placementHealthUrl: string };
}
const { databaseUrl, dapr } = JSON.parse(process.argv[2]!) as Setup;
const reminded = actorContract('Reminded', { methods: {}, reminders: { ring: reminder } });
/** When each was reminded first. */
let fired = new Map<string, number>();
const implementation = implementFor<object, object>()(reminded, {
  state: z.object({}),
  memory: async () => ({}),
  methods: {},
  reminders: {
    ring: async ({ id }) => {
      if (!fired.has(id)) fired.set(id, Date.now());
    },
  },
});

const log = quietLog();
const sql = openDatabase({ url: databaseUrl, connections: 8 });
const common = { sql, clock: systemClock, log, incarnation: newId() };
const engine: Engine = dapr
  ? await openDaprEngine({
      ...common,
      ...dapr,
      apiToken: undefined,
      appToken: undefined,
      callerToken: 'x'.repeat(43),
      types: [reminded.type],
    })
  : await openEmbeddedEngine({ ...common, address: `pid ${process.pid}` });
let rounds = 0;

answering({
  async start() {
    await engine.host(
      createHost({ implementations: [implementation], needs: {}, actors: actorsOf(engine), clock: systemClock, log }),
    );
  },
  /** Registers `count` reminders for one moment, each by a call of its own; answers how long it took. */
  async register({ count, due, callers }: { count: number; due: number; callers: number }) {
    fired = new Map();
    const [round, at] = [++rounds, new Date(due)];
    let next = 0;
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (next < count) await engine.remind([reminderOf(reminded, `r${round}-${next++}`, 'ring', at)]);
      }),
    );
    return performance.now() - begun;
  },
  count: () => fired.size,
  fired: () => [...fired.values()],
});
