import { startWorker } from '../../platform/flow/index.ts';
import { abandonClaims, claimSteps, claimSubmits, type Lane } from './claim-store.ts';
import type { MediaJobsDeps } from './deps.ts';
import type { ClaimedJob } from './row.ts';
import { makeStep, openOnce, type StepDeps } from './work.ts';

/** Calls to one provider at once: one that hangs holds these, and no others. */
const PER_PROVIDER = 64;
/** A changed key has its effect on jobs within this time. */
const OPENED_MS = 2_000;
/** Between two looks at what is due. */
export const REST_MS = 500;
/** The same while no job is open, where this process alone makes jobs: the first one wakes it. */
const QUIET_MS = 10_000;

/** Works on media jobs that are due, until it is disposed of: what is under way then is left to others. */
export function startJobs(deps: MediaJobsDeps, restMs: number = REST_MS): AsyncDisposable & { wake(): void } {
  const { sql, clock, log, claimer, held, isAlone } = deps;
  const atWork = (providerId: string) => held.all().filter((job) => job.providerId === providerId).length;
  const providerIds = [...new Set(deps.providers.list('media').map(({ id }) => id))];

  let isQuiet = false;
  let openedAt = clock.monotonic();
  let round: StepDeps = { ...deps, open: openOnce(deps) };

  async function claim(): Promise<{ job: ClaimedJob; deps: StepDeps }[]> {
    if (clock.monotonic() - openedAt > OPENED_MS) {
      openedAt = clock.monotonic();
      round = { ...deps, open: openOnce(deps) };
    }
    const stepDeps = round;
    const lanes = (): Lane[] =>
      providerIds.flatMap((providerId) => {
        const free = PER_PROVIDER - atWork(providerId);
        return free > 0 ? [{ providerId, free }] : [];
      });
    const since = clock.monotonic();
    const { jobs, isWaiting, isOpen } = await claimSteps(sql, claimer, lanes());
    isQuiet = isAlone && !isOpen;
    jobs.forEach((job) => held.take(job, since));
    const before = clock.monotonic();
    const submits = isWaiting ? await claimSubmits(sql, claimer, lanes()) : [];
    submits.forEach((job) => held.take(job, before));
    return [...jobs, ...submits].map((job) => ({ job, deps: stepDeps }));
  }

  const worker = startWorker<Awaited<ReturnType<typeof claim>>[number]>({
    clock,
    concurrency: providerIds.length * PER_PROVIDER,
    restMs: () => (isQuiet ? QUIET_MS : restMs),
    claim,
    async work({ job, deps: stepDeps }) {
      const isFull = atWork(job.providerId) >= PER_PROVIDER;
      try {
        await makeStep(stepDeps, job);
      } finally {
        held.drop(job);
        if (isFull && atWork(job.providerId) === PER_PROVIDER / 2) worker.wake(); // many in one look
      }
    },
    onWorkError: (error, { job }) =>
      log.warn({ jobId: job.id, err: error }, 'a step of a media job failed, made again when its claim is over'),
    onClaimError: (error) => log.error({ err: error }, 'claiming media jobs failed, repeated'),
  });
  return {
    wake: () => worker.wake(),
    async [Symbol.asyncDispose]() {
      await worker[Symbol.asyncDispose]();
      await abandonClaims(sql, claimer.incarnation, held.all()).catch(() => undefined); // claims end by themselves
    },
  };
}
