import type { Database } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { abandonSteps, renewSteps, type StepClaim, type StepClaimer } from './claim-store.ts';

/** The steps that this process works on, prolonged meanwhile. One that is no longer its own is aborted. */
export interface StepHands extends Disposable {
  readonly claimer: StepClaimer;
  take(step: StepClaim): AbortController;
  drop(step: StepClaim): void;
  /** Aborts what is under way of a run whose steps have been ended. */
  abortRun(runId: string): void;
  /** Ends every claim that is left. */
  abandon(): Promise<void>;
}

export function openStepHands({
  sql,
  clock,
  log,
  incarnation,
  leaseMs = 30_000,
}: {
  sql: Database;
  clock: Clock;
  log: Pick<Log, 'warn'>;
  incarnation: string;
  leaseMs?: number;
}): StepHands {
  const claimer: StepClaimer = { incarnation, leaseMs };
  const held = new Map<string, StepClaim & { over: AbortController; since: number }>();

  async function renew(): Promise<void> {
    const since = clock.monotonic();
    const all = [...held.values()];
    try {
      const still = await renewSteps(sql, claimer, all);
      for (const one of all)
        if (still.has(one.id)) one.since = since;
        else one.over.abort(new Error('The step is no longer of this process'));
    } catch (error) {
      log.warn({ err: error, steps: all.length }, 'claims of steps could not be prolonged, tried again');
      for (const one of all)
        if (since - one.since > leaseMs) one.over.abort(new Error('The claim of the step has run out'));
    }
  }
  const renewal = setInterval(() => void (held.size > 0 && renew()), leaseMs / 6);
  renewal.unref();

  return {
    claimer,
    take(step) {
      const over = new AbortController();
      held.set(step.id, { ...step, over, since: clock.monotonic() });
      return over;
    },
    drop({ id, claim }) {
      if (held.get(id)?.claim === claim) held.delete(id);
    },
    abortRun(runId) {
      for (const one of held.values()) if (one.runId === runId) one.over.abort(new Error('The round has ended'));
    },
    abandon: async () => void (await abandonSteps(sql, claimer, [...held.values()])),
    [Symbol.dispose]: () => clearInterval(renewal),
  };
}
