import { startWorker } from '../../platform/flow/index.ts';
import { abandonSteps, claimDueSteps, type RunStepRow } from './claim-store.ts';
import type { RunsDeps } from './deps.ts';
import { workOn } from './work.ts';

/** Steps of this process at once: most of them wait for a provider. */
const MOST_AT_ONCE = 128;
/** What other processes begin is seen so late. */
const REST_MS = 5_000;
/** A run that somebody writes is looked at again so soon: whoever writes it wakes nobody for its other steps. */
const LOCKED_MS = 25;

/** Works on steps that are due, until it is disposed of: what is under way then is left to others. */
export function startSteps(deps: RunsDeps): AsyncDisposable & { wake(): void } {
  const { sql, clock, log, claimer, held } = deps;
  const ending = new AbortController();
  const worker = startWorker<RunStepRow>({
    clock,
    concurrency: MOST_AT_ONCE,
    restMs: REST_MS,
    async claim(limit) {
      const { steps, isMore } = await claimDueSteps(sql, [...deps.kinds.keys()], claimer, limit);
      if (isMore)
        void clock.sleep(LOCKED_MS, ending.signal).then(
          () => worker.wake(),
          () => undefined,
        );
      return steps;
    },
    work: (step) => workOn(deps, step),
    onWorkError: (error, { runId, name }) =>
      log.warn({ runId, step: name, err: error }, 'a step of a run failed, done again when its claim is over'),
    onClaimError: (error) => log.error({ err: error }, 'claiming steps of runs failed, repeated'),
  });
  return {
    wake: () => worker.wake(),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await worker[Symbol.asyncDispose]();
      await abandonSteps(sql, claimer, held.all()).catch(() => undefined); // claims end by themselves
    },
  };
}
