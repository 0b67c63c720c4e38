import type { Fault } from './swarm.ts';

// What people know by what they were answered, and what they do; what a run is told, and what came of it.

/** A post as those know it who made it: what they were answered, and what may be. */
export interface KnownPost {
  readonly id: string;
  readonly orgId: string;
  readonly channelId: string;
  readonly root: string | undefined;
  readonly recurs: boolean;
  /** The date that was asked for last. */
  date: number;
  /** Kept with its answer, in the commit of its create. */
  readonly key: string | undefined;
  /** Its organization asks for approval of what it says. */
  readonly isHeld: boolean;
  created: 'asked' | 'yes' | 'no';
  /** What it may say on the network. */
  texts: Set<string>;
  approved: Set<string>;
  /** When its deletion was confirmed. */
  deletedAt: number | undefined;
  mayBeDeleted: boolean;
  revision: number;
}
/** A pause that was confirmed, until somebody asks for its end. */
export interface KnownBrake {
  readonly orgId: string;
  readonly channelId: string | undefined;
  readonly from: number;
  until: number;
}
export interface KnownOrg {
  readonly id: string;
  readonly userId: string;
  readonly approvals: boolean;
  readonly channels: readonly string[];
  /** The posts that its plan has; more than that are there only where it had more before. */
  most: number;
}

/** What somebody does. `plan`: an operator gives the organization room for more posts, or for fewer. */
export const ACTS = [
  'create',
  'plan',
  'edit',
  'move',
  'delete',
  'pause',
  'resume',
  'retry',
  'approve',
  'login',
  'enable',
] as const;
export type Act = (typeof ACTS)[number];

export interface SimulationOptions {
  server: string;
  template: string;
  seed: number;
  /** Faults that this run leaves out: how a failure is made smaller. */
  without?: readonly Fault[];
  /** Acts of people, at most. */
  acts?: number;
}
export interface Simulation {
  seed: number;
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
