import { AppError, notFound } from '../../platform/kernel/index.ts';
import type { MediaJobsDeps } from './deps.ts';
import { finishJob } from './end.ts';
import type { JobRow } from './row.ts';
import * as store from './store.ts';

/**
 * Cancels a job. One that waits costs nothing; one that runs is told to stop and settled by its estimate, as the
 * provider may bill what it did. While this process or another asks the provider, the job ends with the answer.
 *
 * @throws AppError `conflict` for one that is over, or whose results are there already
 */
export async function cancelJob(deps: MediaJobsDeps, orgId: string, id: string): Promise<JobRow> {
  const job = await getJob(deps, orgId, id);
  const name = { id, orgId };
  const cancelled = { state: 'cancelled', error: 'Cancelled' } as const;
  const isEnded =
    job.state !== 'cancelled' &&
    ((await finishJob(deps, { ...name, from: 'unsent' }, { ...cancelled, billing: 'release' })) ||
      (await finishJob(deps, { ...name, from: 'running' }, { ...cancelled, billing: 'estimate', isStopped: true })));
  if (isEnded) deps.wake();
  else if (job.state !== 'cancelled' && !(await store.askToCancel(deps.sql, orgId, id))) {
    const { state } = await getJob(deps, orgId, id);
    if (state !== 'cancelled') throw new AppError('conflict', `This job is ${state} and can no longer be cancelled`);
  }
  return getJob(deps, orgId, id);
}

/** A job of the organization; 404 for any other. */
export async function getJob({ sql }: Pick<MediaJobsDeps, 'sql'>, orgId: string, id: string): Promise<JobRow> {
  const job = await store.findJob(sql, orgId, id);
  if (!job) throw notFound('Job not found');
  return job;
}
