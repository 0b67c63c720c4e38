import { holdClaims, openLimiter, startWorker } from '../../../platform/flow/index.ts';
import { bind } from '../../../platform/kernel/index.ts';
import { cancelTransform, createTransform, showTransform } from './create.ts';
import type { TransformsDeps, TransformsOptions } from './deps.ts';
import { type ClaimedTransform, claimTransforms, handTransformsBack, oldTransforms, renewTransforms } from './store.ts';
import { makeTransform } from './work.ts';

/** Of one process: most of their time is spent on copies from and to the storage, each of which holds a file. */
const AT_ONCE = 4;
/** What another process was asked for is seen so late. */
const REST_MS = 5_000;
const LEASE_MS = 30_000;

/** Opens the changes of files that are made here: durable jobs, one of an organization at a time. */
export function openTransforms(options: TransformsOptions, { leaseMs = LEASE_MS, restMs = REST_MS } = {}) {
  const { sql, clock, log, incarnation, retentionDays } = options;
  let worker: ReturnType<typeof start> | undefined;
  const deps: TransformsDeps = {
    ...options,
    atWork: openLimiter({ total: 1, perOwner: 1 }),
    wake: () => worker?.wake(),
  };
  const claimer = { incarnation, leaseMs };
  const held = holdClaims<ClaimedTransform>({
    clock,
    leaseMs,
    renew: (jobs) => renewTransforms(sql, claimer, jobs),
    onRenewError: (error, jobs) =>
      log.warn({ err: error, jobs }, 'claims of media transforms could not be prolonged, tried again'),
  });

  function start() {
    const running = startWorker<{ job: ClaimedTransform; signal: AbortSignal }>({
      clock,
      concurrency: AT_ONCE,
      restMs,
      async claim(limit) {
        const since = clock.monotonic();
        const jobs = await claimTransforms(sql, claimer, limit);
        return jobs.map((job) => ({ job, signal: held.take(job, since).signal }));
      },
      async work({ job, signal }) {
        await makeTransform(deps, job, signal);
        held.drop(job);
        running.wake(); // the next one of the organization
      },
      onWorkError: (error, { job }) =>
        log.error({ jobId: job.id, err: error }, 'a media transform failed, made again when its claim is over'),
      onClaimError: (error) => log.error({ err: error }, 'claiming media transforms failed, repeated'),
    });
    return {
      wake: () => running.wake(),
      async [Symbol.asyncDispose]() {
        await running[Symbol.asyncDispose]();
        await handTransformsBack(sql, incarnation, held.all()).catch(() => undefined); // claims end by themselves
        held.abort(() => true, 'The process ends');
      },
    };
  }

  return {
    ...bind(deps, { create: createTransform, show: showTransform, cancel: cancelTransform }),
    /** Works on what is due, in this process, until it is disposed of. */
    start: (): AsyncDisposable => (worker = start()),
    /** Forgets old jobs; answers how many, `limit` at most. */
    sweep: (limit: number) => oldTransforms.drop(sql, retentionDays, limit),
    [Symbol.dispose]: () => held[Symbol.dispose](),
  };
}
