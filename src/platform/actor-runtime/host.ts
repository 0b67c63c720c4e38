import type { Clock } from '../kernel/index.ts';
import type { Address, Reminder } from './address.ts';
import type { Actors } from './contract.ts';
import type { Tracing } from '../telemetry/index.ts';
import type { Implementation } from './implement.ts';

/** What a host needs of its engine while turns run. */
export interface HostPorts {
  remind(reminders: readonly Reminder[]): Promise<void>;
  forget(to: Address, name: string): Promise<void>;
  /** The actor's document, or undefined. */
  loadState(of: Address): Promise<unknown>;
  /** Refused with `Fenced` when this host does not hold the actor any more. */
  saveState(of: Address, doc: unknown): Promise<void>;
}
/**
 * This host was replaced: the actor's memory is dropped and the turn fails with `draining`, so that the engine repeats
 * the call elsewhere.
 */
export class Fenced extends Error {}

/** The part of a pino logger that the runtime uses. */
export interface RuntimeLog {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

export interface HostOptions {
  implementations: readonly Implementation[];
  needs: unknown;
  actors: Actors;
  clock: Clock;
  log: RuntimeLog;
  /** Where turns are shown as spans; absent: nowhere. */
  tracing?: Tracing;
  limits?: Partial<HostLimits>;
}
export interface HostLimits {
  /** Calls that wait in one mailbox; one more is `busy`. */
  mailbox: number;
  /** Nudges at work at a time, and those that may wait. */
  nudgesAtWork: number;
  nudgesWaiting: number;
  /** A turn that lasts longer is logged; drain waits this long for turns. */
  turnMs: number;
  /** Background work may go on this long in a drain. */
  backgroundMs: number;
  /** An actor without a turn for this long is deactivated. */
  idleMs: number;
  /** Results of recent commands kept for repeats, and how long. */
  commands: number;
  commandMs: number;
}

/** What a host has done since it started. */
export interface HostCounters {
  turns: number;
  failedTurns: number;
  calls: number;
  batches: number;
  batchedInputs: number;
  reminders: number;
  nudges: number;
  stateWrites: number;
  refusedBusy: number;
  repeatedCommands: number;
}

/** A reminder as it fires. `owner`: nudges that wait are dealt round robin over owners. */
export interface Fired {
  to: Address;
  name: string;
  data: unknown;
  owner: string | undefined;
}

/** Turns of one process: mailboxes, validation, batches, nudges, drain. Knows no engine. */
export interface Host {
  readonly types: readonly string[];
  /** Given by the engine when it starts hosting. */
  attach(ports: HostPorts): void;
  call(to: Address, method: string, input: unknown, commandId?: string): Promise<unknown>;
  /** A call by another application: `forbidden` unless the contract opens the method to neighbours. */
  callByNeighbour(to: Address, method: string, input: unknown): Promise<unknown>;
  /** Ends when the turn has ended; a nudge ends at once. Rejects with `busy` beyond the bound. */
  fire(to: Address, name: string, data: unknown, owner?: string): Promise<void>;
  /** Whether the reminder's handler is a nudge. */
  isNudge(type: string, name: string): boolean;
  /** Drops memory after the running turn. True when the actor was active. */
  deactivate(of: Address): Promise<boolean>;
  activations(): Readonly<Record<string, number>>;
  mailboxes(): Readonly<Record<string, { queued: number; longest: number }>>;
  readonly counters: Readonly<HostCounters>;
  /**
   * From now on every new turn is `draining`, also for calls that wait. Answers the nudges that were taken and had no
   * turn yet, for the engine to remind again.
   */
  refuse(): readonly Fired[];
  /** Ends when running turns and background work have ended, or their time is over. Answers what is left. */
  settle(): Promise<{ turns: number; background: number }>;
}
