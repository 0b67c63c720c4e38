import { dueReminder } from '../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../actors/host/start.ts';
import { type Context, openContext } from '../../src/context.ts';
import { readConfig } from '../../src/platform/config/index.ts';
import { WITH_BILLING } from '../support/worlds/billing.ts';
import type { KeptSessions } from '../support/wire/database/kept-sessions.ts';
import { JWT_SECRET } from '../support/worlds/secret.ts';
import type { Process } from './kernel.ts';
import type { World } from './known.ts';
import { openWires, type WireFaults } from './wire.ts';

interface HostOptions extends WireFaults {
  sessions: KeptSessions;
  folder: string;
  /** Lines of the product that a person must see. */
  onError(line: string): void;
}

/** The listener that tells the world outside; the others look as often and would only cost time. */
const HEARD = 'webhooks';
const LOOK_MS = 2_000;
/** Many posts of a simulation are further away when they are created: their reminders are registered later. */
const HORIZON_HOURS = 20 / 3_600;

/** The product in one process, as `rookery start` joins it, with what is at its edges replaced. */
export function startHost(world: World, process: Process, { sessions, folder, onError, ...faults }: HostOptions) {
  const { kernel } = world;
  const { name } = process;
  const wires = openWires({ sessions, kernel, process, ...faults });
  const log = {
    debug: () => {},
    info: () => {},
    warn: (detail: object, message: string) => kernel.note(`${name} warns: ${message}${causeOf(detail)}`),
    error(detail: object, message: string) {
      const line = `${name} fails: ${message}${causeOf(detail)}`;
      kernel.note(line);
      onError(line);
    },
  };
  const host = {
    process,
    wires,
    context: undefined as Context | undefined,
    running: undefined as AsyncDisposable | undefined,
    failed: undefined as unknown,
    /** Of its claims; known once it is up. */
    incarnation: '',
    upAt: Infinity,
    diedAt: Infinity,
    /** Opens and starts it; every statement of it is a door. */
    async open(): Promise<void> {
      try {
        const env = { JWT_SECRET, BACKEND_LISTEN_HOST: '127.0.0.1', DATA_FOLDER: folder, ...WITH_BILLING };
        const { config } = readConfig(env);
        const context = await openContext(
          { ...config, actors: { ...config.actors, reminderHorizonHours: HORIZON_HOURS } },
          {
            logs: { of: () => log },
            actorTypes,
            channelReminder: dueReminder,
            sandboxUrl: undefined,
            sql: wires.sql,
            adapters: world.networks.adapters,
          },
        );
        context.outbound.stream = world.receivers.stream;
        const heard = context.listeners.filter((listener) => listener.name === HEARD);
        const listeners = heard.map((listener) => ({ ...listener, lookMs: LOOK_MS }));
        host.running = await startActors({ ...context, sweeps: [], listeners, workers: [] });
        host.context = context;
        host.incarnation = context.incarnation;
        host.upAt = kernel.now;
        kernel.note(`${name} is up`);
      } catch (error) {
        host.failed = error;
        kernel.note(`${name} did not start: ${String(error)}`);
      }
    },
    /** Goes away in order. */
    async drain(): Promise<void> {
      host.upAt = Infinity; // it takes nothing over any more
      await host.running?.[Symbol.asyncDispose]();
      kernel.note(`${name} has drained`);
      host.kill();
    },
    /** Nothing of it goes on, and its connections are gone. */
    kill(): void {
      process.dead = true;
      host.diedAt = Math.min(host.diedAt, kernel.now);
      host.context = undefined;
      wires.kill();
      kernel.forget(process);
    },
  };
  return host;
}
export type Host = ReturnType<typeof startHost>;

const causeOf = ({ err }: { err?: unknown }): string =>
  err === undefined ? '' : ` (${(err instanceof Error ? err.message : String(err)).slice(0, 200)})`;
