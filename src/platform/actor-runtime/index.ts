export { actorsOf } from './callers.ts';
export { createHost } from './create-host.ts';
export { forgetActorsOf } from './erase.ts';
export {
  type ActorContract,
  actorContract,
  type Actors,
  type Caller,
  method,
  type Methods,
  nudge,
  reminder,
  reminderOf,
} from './contract.ts';
export type { Bus } from './bus.ts';
export type { Address, Engine, Placement, Reminder, ReminderCounts, SettledCall } from './engine.ts';
export { type Hold, holdDatabase, type HoldState } from './database-lock.ts';
export {
  Fenced,
  type Fired,
  type Host,
  type HostCounters,
  type HostLimits,
  type HostOptions,
  type HostPorts,
  type RuntimeLog,
} from './host.ts';
export { placement } from './hosts.ts';
export { type Each, type Hint, type Implementation, implementFor, type Turn } from './implement.ts';
