// A host as a process of its own, for tests that kill, stop or drain one: `node test/support/processes/actor-host.ts
// <HostSetup as JSON>`. Commands come as JSON lines on standard input, answers and events go as JSON lines to standard
// output. SIGTERM drains, and the end of its input ends it: nobody is left to ask for anything.
import { createInterface } from 'node:readline';
import { openDaprEngine } from '../../../src/platform/actor-runtime/dapr/index.ts';
import { openEmbeddedEngine } from '../../../src/platform/actor-runtime/embedded/index.ts';
import {
  type Address,
  actorsOf,
  createHost,
  type Engine,
  type HostLimits,
  type Reminder,
} from '../../../src/platform/actor-runtime/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { asAppError, systemClock } from '../../../src/platform/kernel/index.ts';
import { ledger, ledgerActor } from '../worlds/ledger-actor.ts';
import { quietLog } from '../worlds/quiet-log.ts';

/** `dapr`: ports and tokens of the sidecar; without it the embedded engine runs. */
export interface ChildSetup {
  databaseUrl: string;
  incarnation: string;
  retryMs: number;
  limits?: Partial<HostLimits>;
  dapr?: {
    httpPort: number;
    grpcPort: number;
    appPort: number;
    apiToken?: string;
    appToken?: string;
    repeatMs?: number;
  };
}
/** Dates travel as text. */
export type Command =
  | { id: number; do: 'invoke'; to: Address; method: string; input: unknown }
  | { id: number; do: 'remind'; reminders: (Omit<Reminder, 'due'> & { due: string })[] }
  | { id: number; do: 'heartbeatAge' };
export type HostSaid =
  | { event: 'ready' | 'drained' | 'refused'; message?: string }
  | { reply: number; value?: unknown; error?: { code: string; message: string } };

const setup = JSON.parse(process.argv[2]!) as ChildSetup;
const commands = createInterface({ input: process.stdin }).once('close', () => process.exit(0));
const say = (line: HostSaid) => process.stdout.write(`${JSON.stringify(line)}\n`);
const log = quietLog();
const { databaseUrl, incarnation, retryMs, limits = {}, dapr } = setup;
const sql = openDatabase({ url: databaseUrl, connections: 4 });

async function open(): Promise<Engine> {
  const common = { sql, clock: systemClock, log, incarnation, retryMs };
  if (!dapr) return openEmbeddedEngine({ ...common, address: `pid ${process.pid}` });
  return openDaprEngine({
    ...common,
    types: [ledger.type],
    ...dapr,
    apiToken: dapr.apiToken,
    appToken: dapr.appToken,
    callerToken: 'token-of-our-processes', // as `dapr-engine.ts` has it, which tests call from
  });
}

async function answer(engine: Engine, command: Command): Promise<unknown> {
  if (command.do === 'invoke') return engine.invoke(command.to, command.method, command.input);
  if (command.do === 'remind')
    return engine.remind(command.reminders.map((one) => ({ ...one, due: new Date(one.due) })));
  return engine.heartbeatAgeMs();
}

try {
  const engine = await open();
  const host = createHost({
    implementations: [ledgerActor],
    needs: { sql, incarnation },
    actors: actorsOf(engine),
    clock: systemClock,
    log,
    limits,
  });
  const running = await engine.host(host);
  commands.on('line', (line) => {
    const command = JSON.parse(line) as Command;
    answer(engine, command).then(
      (value) => say({ reply: command.id, value }),
      (error: unknown) => say({ reply: command.id, error: asAppError(error).toJSON() }),
    );
  });
  const leave = async () => {
    await running[Symbol.asyncDispose]();
    say({ event: 'drained' });
    process.exit(0);
  };
  process.once('SIGTERM', () => void leave());
  say({ event: 'ready' });
} catch (error) {
  say({ event: 'refused', message: String(error) });
  process.exit(1);
}
