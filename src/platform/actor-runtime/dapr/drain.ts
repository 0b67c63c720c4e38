import type { Clock } from '../../kernel/index.ts';
import type { Host, RuntimeLog } from '../host.ts';
import type { Subscriptions } from './bus.ts';
import type { Probe } from './probe.ts';
import type { SchedulerReminders } from './reminders.ts';
import type { HostServer } from './server.ts';

const SILENCE_MS = 1_500;
/** Whoever still asks after the types were withdrawn (a sidecar that lost its placement) does not keep the process. */
const LONGEST_SILENCE_MS = 6_000;
const LOOK_MS = 50;
const PROBE_ANSWER_MS = 250;

export interface DrainOptions {
  host: Host;
  server: HostServer;
  reminders: SchedulerReminders;
  bus: Pick<Subscriptions, 'handOver'>;
  probe: Probe;
  clock: Clock;
  log: RuntimeLog;
}

/**
 * Takes a host out of service without cutting anything: health first, so that daprd withdraws the types; new turns are
 * refused and repeated elsewhere by their callers; running turns end before the withdrawal; then silence, then the end.
 */
export async function drainHost({ host, server, reminders, bus, probe, clock, log }: DrainOptions): Promise<void> {
  const flip = clock.monotonic();
  server.turnUnhealthy();
  const taken = host.refuse();
  // the last of the probes that must fail, and its answer
  const withdrawn = probe.threshold * probe.intervalMs + PROBE_ANSWER_MS;
  // A nudge that was answered and had no turn yet is set again, for a host that is there when it fires.
  const due = clock.in(withdrawn);
  const handedBack = reminders
    .register(
      taken.map(({ to, name, data, owner }) => ({ ...to, name, due, data, ...(owner !== undefined && { owner }) })),
    )
    .catch((error: unknown) =>
      log.warn(
        { nudges: taken.length, err: error },
        'nudges could not be handed back; the reconciler finds their rows',
      ),
    );

  const isProbed = () => clock.monotonic() - server.lastProbed() < 3 * probe.intervalMs;
  // Daprd withdraws nothing while a message is under way, and its handler may wait for an actor that is here.
  const unhealthy = (async () => {
    // without a sidecar there is nothing to wait for
    while (isProbed() && clock.monotonic() - flip < withdrawn) await clock.sleep(LOOK_MS);
    await bus.handOver();
  })();

  const left = await host.settle();
  if (left.turns + left.background > 0) log.warn(left, 'work that did not end in time is left to the rows');
  await handedBack;

  await unhealthy;
  const quietFrom = clock.monotonic();
  while (
    isProbed() &&
    clock.monotonic() - server.lastAsked() < SILENCE_MS &&
    clock.monotonic() - quietFrom < LONGEST_SILENCE_MS
  )
    await clock.sleep(LOOK_MS);
}
