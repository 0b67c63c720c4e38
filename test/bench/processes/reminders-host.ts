// A process with an engine for the benchmark `reminders`: an actor that does nothing when it is reminded.
import { z } from 'zod';
import {
  actorContract,
  actorsOf,
  createHost,
  implementFor,
  reminder,
  reminderOf,
} from '../../../src/platform/actor-runtime/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { answering } from '../kit/answering.ts';
import { type DaprPorts, openEngine } from '../kit/engine.ts';

interface Setup {
  databaseUrl: string;
  dapr?: DaprPorts;
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
const engine = await openEngine({ sql, log, type: reminded.type }, dapr);
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
