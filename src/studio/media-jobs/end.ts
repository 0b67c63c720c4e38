import type { Sql } from '../../platform/db/index.ts';
import type { AppError } from '../../platform/kernel/index.ts';
import { append } from '../../platform/outbox/index.ts';
import type { MediaJobsDeps } from './deps.ts';
import * as store from './store.ts';
import type { EndedJob, Ending, JobEnd } from './store.ts';

/**
 * What becomes of the reservation at the end of a job: nothing was billed, nobody knows how much was, or nobody knows
 * whether anything was.
 */
export type JobBilling = 'release' | 'estimate' | 'keep';
type Deps = Pick<MediaJobsDeps, 'sql' | 'budget' | 'billing' | 'waiters'>;
type HowEnded = JobEnd & {
  billing: JobBilling;
  /** Address of its first file. */
  path?: string | undefined;
};

/** The end of a job that has failed by this error. */
export const failedBy = ({ code, message, extra: { limit, max } }: AppError) => ({
  state: 'failed' as const,
  errorCode: code,
  error: message,
  ...(code === 'limit_exceeded' && { exceeded: { limit: String(limit), max: Number(max) } }),
});

/** Ends a job with everything that follows from it, in one commit; false: it had ended, or is somebody else's. */
export async function finishJob(deps: Deps, job: Ending, ended: HowEnded): Promise<boolean> {
  const row = await deps.sql.begin((tx) => endWithin(deps, tx, job, ended));
  if (row) deps.waiters.written(row.id);
  return row !== undefined;
}

/** The same in the caller's transaction; whoever waits is told afterwards. */
export async function endWithin(
  { budget, billing }: Pick<Deps, 'budget' | 'billing'>,
  tx: Sql,
  job: Ending,
  ended: HowEnded,
): Promise<EndedJob | undefined> {
  const row = await store.endJob(tx, job, ended);
  if (!row) return undefined;
  const { id, orgId, reservation: ref } = row;
  if (!row.isSettled && ended.billing !== 'keep') {
    const billed = ended.billing === 'estimate';
    if (billed) await budget.settle(tx, { orgId, ref }, undefined, { marked: true });
    else await budget.release(tx, { orgId, ref });
    await store.setSettled(tx, row, billed ? { billed, cost: undefined } : { billed });
  }
  if (row.isExport && (ended.state === 'failed' || ended.state === 'cancelled'))
    await billing.giveBackExport(tx, orgId, id);
  if (ended.state !== 'cancelled')
    await append(tx, [
      {
        orgId,
        topic: 'media.job_ended',
        entityId: id,
        payload: {
          userId: row.userId,
          operation: row.operation,
          providerId: row.providerId,
          state: ended.state,
          fileIds: [...row.fileIds],
          path: ended.path ?? null,
          error: row.error,
        },
      },
    ]);
  return row;
}
