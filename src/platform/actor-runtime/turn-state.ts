import type { Fifo } from '../flow/index.ts';
import type { Activation } from './activation.ts';
import type { Address } from './address.ts';
import type { HostCounters, HostLimits, HostOptions, HostPorts } from './host.ts';
import type { Implementation } from './implement.ts';

/** An actor type of this host. */
export interface Hosted {
  readonly implementation: Implementation;
  readonly stateful: boolean;
  active: number;
}
export interface TurnJob {
  readonly what: string;
  /** Undefined: deactivates instead of taking a turn. */
  readonly run: ((activation: Activation) => Promise<unknown>) | undefined;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}
export interface Mailbox {
  readonly to: Address;
  readonly key: string;
  readonly hosted: Hosted;
  readonly queue: Fifo<TurnJob>;
  job: TurnJob | undefined;
  since: number;
  slow: boolean;
  activation: Activation | undefined;
}

/** What the host of one process shares among its turns. */
export interface Turns extends Pick<HostOptions, 'needs' | 'actors' | 'clock' | 'log' | 'tracing'> {
  readonly limits: HostLimits;
  readonly types: ReadonlyMap<string, Hosted>;
  readonly mailboxes: Map<string, Mailbox>;
  readonly atWork: Set<Mailbox>;
  readonly background: Set<Promise<void>>;
  readonly counters: HostCounters;
  /** Who waits for the last turn or the last background work to end. */
  readonly quiet: (() => void)[];
  /** Of the engine, once it attached itself. */
  ports: HostPorts | undefined;
  refusing: boolean;
}
