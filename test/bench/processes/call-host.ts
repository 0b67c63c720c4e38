// A process with an engine for the benchmark `call`: hosts the actor, or only calls it.
import { actorsOf, createHost } from '../../../src/platform/actor-runtime/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { answering } from '../kit/answering.ts';
import { type DaprPorts, openEngine } from '../kit/engine.ts';
import { benchActorOf, implementationOf, waysOf } from '../kit/bench-actor.ts';
import { allCalls } from '../kit/calls.ts';

interface Setup {
  databaseUrl: string;
  hosts: boolean;
  dapr?: DaprPorts;
  type?: string;
  /** What callers of this instance show; empty: nothing, and nothing is compared. */
  callerToken?: string;
}
const { databaseUrl, hosts, dapr, type = 'Bench', callerToken } = JSON.parse(process.argv[2]!) as Setup;

const benchActor = benchActorOf(type);
const log = quietLog();
const sql = openDatabase({ url: databaseUrl, connections: 4 });
const engine = await openEngine({ sql, log, type: benchActor.type }, dapr, callerToken);
const actors = actorsOf(engine);

/** The least that turns can cost in one process: calls of one key one after the other. */
function promiseChains() {
  const chains = new Map<string, Promise<unknown>>();
  const turn = async () => undefined;
  return (caller: number): Promise<unknown> => {
    const key = `caller-${caller}`;
    const next = (chains.get(key) ?? Promise.resolve()).then(turn);
    chains.set(key, next);
    return next;
  };
}

answering({
  async start() {
    if (hosts)
      await engine.host(
        createHost({ implementations: [implementationOf(benchActor)], needs: {}, actors, clock: systemClock, log }),
      );
  },
  calls: ({ ms }: { ms: number }) => allCalls(waysOf(actors, benchActor), ms),
  chains: ({ ms }: { ms: number }) => allCalls({ empty: promiseChains() }, ms),
});
