// A thread that builds documents of strangers: started by `worker.ts` with a limit of memory, told one job at a time, and
// ended when a job takes too long.
import { parentPort } from 'node:worker_threads';
import { doJob, type JobKind, type Jobs } from './jobs.ts';

export interface ToldJob {
  kind: JobKind;
  given: Jobs[JobKind]['given'];
}
/** It has started, and takes its first job. */
export type UpJob = 'up';
export type SaidJob = { done: Jobs[JobKind]['done'] } | { failed: string };

parentPort!.on('message', ({ kind, given }: ToldJob) => {
  let said: SaidJob;
  try {
    said = { done: doJob(kind, given) };
  } catch (error) {
    said = { failed: String(error) };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort!.postMessage(said);
});
const up: UpJob = 'up';
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort!.postMessage(up);
