import { runEach } from '../../platform/db/index.ts';
import { AppError, notFound } from '../../platform/kernel/index.ts';
import type { MediaJobsDeps } from './deps.ts';
import { getJob } from './cancel.ts';
import { finishJob } from './end.ts';
import type { JobRow } from './row.ts';
import { UNKNOWN_DAYS } from './rules.ts';
import * as store from './store.ts';

const NO_TURN = {
  state: 'failed',
  errorCode: 'unavailable',
  error:
    'This job did not get its turn within a day: others of the organization are still at the provider, or it was disabled',
  billing: 'release',
} as const;

type Deps = Pick<MediaJobsDeps, 'sql' | 'budget' | 'billing'>;

/** What a person found out at the provider; `micros` undefined: the estimate stands. */
export interface OutcomeByHand {
  billed: boolean;
  micros?: number | undefined;
}

/**
 * Settles a job of which nobody knew whether it was billed.
 *
 * @throws AppError `conflict` for any other job, and for one that is settled already
 */
export async function settleUnknown(deps: Deps, orgId: string, id: string, found: OutcomeByHand): Promise<JobRow> {
  await deps.sql.begin(async (tx) => {
    const job = await store.unknownForUpdate(tx, orgId, id);
    if (!job) throw notFound('Job not found');
    if (job.state !== 'unknown') throw new AppError('conflict', `The outcome of this job is known: it is ${job.state}`);
    if (job.isSettled) throw new AppError('conflict', 'This job is settled already');
    const key = { orgId, ref: job.reservation };
    const { billed, micros } = found;
    const cost = micros === undefined ? undefined : { micros, source: 'reply' as const };
    if (!billed) {
      await deps.budget.release(tx, key);
      if (job.isExport) await deps.billing.giveBackExport(tx, orgId, id);
    } else await deps.budget.settle(tx, key, cost, { marked: cost === undefined });
    await store.setSettled(tx, job, billed ? { billed, cost } : { billed });
  });
  return getJob(deps, orgId, id);
}

/**
 * Ends jobs that did not get their turn, settles unknown ones by their estimate after a week, and forgets old ones;
 * answers how many, `limit` at most of a kind. One that fails holds up no other.
 */
export async function sweepJobs(
  deps: Deps & Pick<MediaJobsDeps, 'waiters' | 'retentionDays' | 'log'>,
  limit: number,
): Promise<number> {
  const failed = (err: unknown, { orgId, id }: Pick<JobRow, 'orgId' | 'id'>) =>
    deps.log.warn({ err, orgId, jobId: id }, 'a media job could not be ended or settled, tried again');
  const stale = await runEach<store.JobKey>(limit, {
    find: (most, tried) => store.findStale(deps.sql, most, tried),
    work: (job) => finishJob(deps, { ...job, from: 'unsent' }, NO_TURN),
    failed,
  });
  const unsettled = await runEach<store.JobKey>(limit, {
    find: (most, tried) => store.findUnsettledJobs(deps.sql, UNKNOWN_DAYS, most, tried),
    work: ({ orgId, id }) =>
      settleUnknown(deps, orgId, id, { billed: true }).catch((error: unknown) => {
        if (!(error instanceof AppError && error.code === 'conflict')) throw error; // somebody did it meanwhile
      }),
    failed,
  });
  return stale + unsettled + (await store.oldJobs.drop(deps.sql, deps.retentionDays, limit));
}
