import type { Database } from '../../src/platform/db/index.ts';
import type { Checks } from './checks.ts';
import type { Host } from './host.ts';
import type { Kernel } from './kernel.ts';
import type { Networks } from './network.ts';
import type { People } from './people.ts';
import type { Receivers } from './receivers.ts';
import type { Fault, Swarm } from './swarm.ts';

// What people know by what they were answered; what a run is told, what is in it, and what came of it.

/** `asked`: no answer has come, maybe none will. */
export type Known = 'asked' | 'yes' | 'no';
/** A post as those know it who made it: what they were answered, and what may be. */
export interface KnownPost {
  readonly id: string;
  readonly orgId: string;
  readonly channelId: string;
  readonly root: string | undefined;
  readonly recurs: boolean;
  /** The date that was asked for last. */
  date: number;
  /** Of the first post of a create: kept with its answer, in the same commit. */
  readonly key: string | undefined;
  /** Its organization asks for approval of what it says. */
  readonly isHeld: boolean;
  created: Known;
  deleted: Known;
  /** What it may say on the network, in the order in which it was asked for, and whether that was answered. */
  texts: Map<string, boolean>;
  approved: Set<string>;
  revision: number;
}
/** A pause that was confirmed, until somebody asks for its end. */
export interface KnownBrake {
  readonly orgId: string;
  readonly channelId: string | undefined;
  readonly from: number;
  until: number;
}
export interface KnownChannel {
  readonly id: string;
  readonly orgId: string;
  readonly providerId: string;
}
export interface KnownOrg {
  readonly id: string;
  readonly userId: string;
  readonly approvals: boolean;
  readonly channels: readonly KnownChannel[];
  /** The posts that it may have: those of its plan, or those that it had when that was lowered. */
  most: number;
}

/** A simulation while it runs. */
export interface World {
  readonly kernel: Kernel;
  readonly swarm: Swarm;
  /** A connection of the checks: in real time, and no door. */
  readonly sql: Database;
  /** Of all that were started. */
  readonly hosts: Host[];
  // the parties, each of which needs others
  checks: Checks;
  networks: Networks;
  receivers: Receivers;
  people: People;
}

export interface SimulationOptions {
  seed: number;
  /** Faults that this run leaves out: how a failure is made smaller. */
  without: readonly Fault[];
  /** Acts of people, at most. */
  acts?: number | undefined;
}
export interface Simulation {
  options: SimulationOptions;
  hash: string;
  steps: number;
  virtualMs: number;
  faults: readonly Fault[];
  /** Acts of people. */
  acted: number;
  /** What did not hold. */
  violation: string | undefined;
  trace: readonly string[];
  /** How often each kind of thing happened. */
  seen: Readonly<Record<string, number>>;
}
