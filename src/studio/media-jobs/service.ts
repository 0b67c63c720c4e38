import { holdClaims, openLimiter, openWaiters } from '../../platform/flow/index.ts';
import { bind } from '../../platform/kernel/index.ts';
import { hearCallback } from './callback.ts';
import { cancelJob, getJob } from './cancel.ts';
import { type Claimer, renewClaims } from './claim-store.ts';
import { createJob, createJobOnce, findTakes, quoteJob } from './create.ts';
import type { MediaJobsDeps, MediaJobsOptions } from './deps.ts';
import { listVideoOptions, listVideoTool, videoRequestOf } from './options.ts';
import { awaitJob, showJob } from './results.ts';
import { settleUnknown, sweepJobs } from './settle.ts';
import { openRunningNotes } from './store.ts';
import { REST_MS, startJobs } from './worker.ts';

/**
 * Copies of this process at once: each holds a connection, and a file of the disk until it is in the storage. Those of
 * one provider, whose server may hang, hold half of them.
 */
const COPIES = { total: 8, perLane: 4, perOwner: 'share' } as const;

export type MediaJobs = ReturnType<typeof openMediaJobs>;

/** Opens the room of pictures, videos and sound that providers make. */
export function openMediaJobs(
  options: MediaJobsOptions,
  { leaseMs = 30_000, restMs }: { leaseMs?: number; restMs?: number } = {},
) {
  let worker: ReturnType<typeof startJobs> | undefined;
  const { sql, clock, log, incarnation } = options;
  const claimer: Claimer = { incarnation, leaseMs };
  const held: MediaJobsDeps['held'] = holdClaims({
    clock,
    leaseMs,
    renew: (jobs) => renewClaims(sql, claimer, jobs),
    onRenewError: (error, jobs) =>
      log.warn({ err: error, jobs }, 'claims of media jobs could not be prolonged, tried again'),
  });
  const deps: MediaJobsDeps = {
    ...options,
    claimer,
    held,
    waiters: openWaiters(clock),
    copies: openLimiter(COPIES),
    noteRunning: openRunningNotes(),
    // what comes later is found by the next look
    wake: (inMs = 0) => void (inMs < REST_MS && setTimeout(() => worker?.wake(), inMs).unref()),
  };
  return {
    ...bind(deps, {
      create: createJob,
      createOnce: createJobOnce,
      quote: quoteJob,
      takes: findTakes,
      get: getJob,
      show: showJob,
      wait: awaitJob,
      cancel: cancelJob,
      settle: settleUnknown,
      hearCallback,
      videoOptions: listVideoOptions,
      videoTool: listVideoTool,
      videoRequestOf,
      sweep: sweepJobs,
    }),
    /** Works on what is due, in this process, until it is disposed of. */
    start: (): AsyncDisposable => (worker = startJobs(deps, restMs)),
    [Symbol.dispose]: () => held[Symbol.dispose](),
  };
}
