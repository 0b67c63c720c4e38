import type { Host } from '../../src/platform/actor-runtime/index.ts';
import type { Metrics } from '../../src/platform/telemetry/index.ts';

const TOTALS = {
  turns: ['turns_total', 'Turns of actors that ended.'],
  failedTurns: ['failed_turns_total', 'Turns that ended with an error, business errors among them.'],
  calls: ['actor_calls_total', 'Calls that came in for actors of this host; a batch counts once.'],
  batches: ['actor_batches_total', 'Batches of calls that ran as one turn.'],
  batchedInputs: ['actor_batched_inputs_total', 'Inputs of those batches.'],
  reminders: ['reminders_total', 'Reminders that fired and were answered after their turn.'],
  nudges: ['nudges_total', 'Reminders that fired and were answered at once.'],
  stateWrites: ['state_writes_total', 'Documents of actors that were written.'],
  refusedBusy: ['refused_busy_total', 'Calls that found a mailbox full.'],
  repeatedCommands: ['repeated_commands_total', 'Calls that the engine repeated and that ran once.'],
} as const satisfies Record<keyof Host['counters'], readonly [name: string, help: string]>;

/** Registers the counters of the host of this process, its active actors and its mailboxes. */
export function measureHost(metrics: Metrics, host: Pick<Host, 'counters' | 'activations' | 'mailboxes'>): void {
  for (const [counter, [name, help]] of Object.entries(TOTALS))
    metrics.total(name, help, () => host.counters[counter as keyof typeof TOTALS]);
  const depth = (what: 'queued' | 'longest') => () =>
    Object.fromEntries(Object.entries(host.mailboxes()).map(([type, box]) => [type, box[what]]));
  metrics.gauge('actors_active', 'Actors in the memory of this host, by type.', () => host.activations(), 'type');
  metrics.gauge('mailbox_waiting', 'Calls that wait for a turn, by type.', depth('queued'), 'type');
  metrics.gauge('mailbox_longest', 'The longest queue of one actor, by type.', depth('longest'), 'type');
}
