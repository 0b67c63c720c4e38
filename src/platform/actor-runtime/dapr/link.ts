import type { Bus } from '../bus.ts';
import type { Hold } from '../database-lock.ts';
import type { ReminderCounts } from '../engine.ts';
import type { Host } from '../host.ts';
import type { HeartbeatLoop } from '../hosts.ts';
import type { Subscriptions } from './bus.ts';
import type { DaprEngineOptions } from './options.ts';
import type { Probe } from './probe.ts';
import type { SchedulerReminders } from './reminders.ts';
import type { Sidecar } from './sidecar.ts';

/** What one process knows of its sidecar, and of the host that it serves. */
export interface SidecarLink {
  readonly options: DaprEngineOptions;
  readonly probe: Probe;
  readonly readyMs: number;
  readonly sidecar: Sidecar;
  readonly reminders: SchedulerReminders;
  readonly bus: Bus & Subscriptions;
  readonly hold: Hold;
  /** Actor types that may be called. */
  readonly known: Set<string>;
  hosted: Host | undefined;
  /** Hosted, and drained: what was still under way is handed back. */
  left: boolean;
  heartbeat: HeartbeatLoop | undefined;
  counted: { at: number; answer: Promise<ReminderCounts | undefined> } | undefined;
}
