import { dueReminder } from '../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../actors/host/start.ts';
import { type Context, openContext } from '../../src/context.ts';
import { readConfig } from '../../src/platform/config/index.ts';
import type { Outbound } from '../../src/platform/outbound/index.ts';
import type { SocialAdapter } from '../../src/providers/registry/index.ts';
import type { Kernel, Process } from './kernel.ts';
import { type Cut, openWires, type WireOptions } from './wire.ts';

export const JWT_SECRET = 'a-secret-of-the-simulation-that-is-long';

export interface HostOptions {
  kernel: Kernel;
  name: string;
  url: URL;
  folder: string;
  adapters: readonly SocialAdapter[];
  skewMs: number;
  rate: number;
  cut(process: Process, label: string): Cut;
  happened(host: Process, cut: 'stands' | 'dies'): void;
  /** The way out to receivers of webhooks. */
  stream: Outbound['stream'];
  /** Lines of the product that a person must see. */
  onError(line: string): void;
}

/** Listeners that tell the world outside; the others look as often and would only cost time. */
const HEARD = new Set(['webhooks']);
const LOOK_MS = 2_000;
/** Many posts of a simulation are further away when they are created: their reminders are registered later. */
const HORIZON_HOURS = 20 / 3_600;
/** Billing is on; the processor of payments is never called. */
const PAYMENTS = {
  PAYMENTS_PUBLISHABLE_KEY: 'pk_sim',
  PAYMENTS_SECRET_KEY: 'sk_sim',
  PAYMENTS_SIGNING_KEY: 'whsec_sim',
};

/** The product in one process, as `rookery start` joins it, with what is at its edges replaced. */
export function startHost(options: HostOptions) {
  const { kernel, name, url, folder, adapters, skewMs, rate, cut, stream, onError } = options;
  const process: Process = { name, skewMs, rate, dead: false, frozenUntil: -Infinity, awayUntil: -Infinity };
  const happened: WireOptions['happened'] = (what) => options.happened(process, what);
  const wires = openWires({ url, kernel, process, cut: (label) => cut(process, label), happened });
  const host = {
    process,
    wires,
    context: undefined as Context | undefined,
    running: undefined as AsyncDisposable | undefined,
    failed: undefined as unknown,
    /** Opens and starts it; every statement of it is a door. */
    async open(): Promise<void> {
      try {
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
        const { config } = readConfig({
          JWT_SECRET,
          BACKEND_LISTEN_HOST: '127.0.0.1',
          DATA_FOLDER: folder,
          ...PAYMENTS,
        });
        const actors = { ...config.actors, reminderHorizonHours: HORIZON_HOURS };
        const context = await openContext(
          { ...config, actors },
          {
            logs: { of: () => log },
            actorTypes,
            channelReminder: dueReminder,
            sandboxUrl: undefined,
            sql: wires.sql,
            adapters,
          },
        );
        context.outbound.stream = stream;
        host.running = await startActors({
          ...context,
          sweeps: [],
          listeners: context.listeners
            .filter((listener) => HEARD.has(listener.name))
            .map((listener) => ({ ...listener, lookMs: LOOK_MS })),
          workers: [],
        });
        host.context = context;
        kernel.note(`${name} is up`);
      } catch (error) {
        host.failed = error;
        kernel.note(`${name} did not start: ${String(error)}`);
      }
    },
    /** Goes away in order. */
    async drain(): Promise<void> {
      await host.running?.[Symbol.asyncDispose]();
      kernel.note(`${name} has drained`);
      host.kill();
    },
    /** Nothing of it goes on, and its connections are gone. */
    kill(): void {
      process.dead = true;
      host.context = undefined;
      wires.kill();
      kernel.forget(process);
    },
  };
  return host;
}
export type Host = ReturnType<typeof startHost>;

const causeOf = (detail: object): string => {
  const { err } = detail as { err?: unknown };
  return err === undefined ? '' : ` (${(err instanceof Error ? err.message : String(err)).slice(0, 200)})`;
};
