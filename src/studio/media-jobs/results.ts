import type { LibraryFile } from '../../library/media/index.ts';
import { AppError, type ErrorCode, STATUS } from '../../platform/kernel/index.ts';
import { getJob } from './cancel.ts';
import type { MediaJobsDeps } from './deps.ts';
import type { JobRow } from './row.ts';

/** A job with the files that it has made; those that were deleted since are left out. */
export interface ShownJob {
  job: JobRow;
  files: readonly LibraryFile[];
}

type Deps = Pick<MediaJobsDeps, 'sql' | 'media' | 'clock' | 'waiters'>;

export async function showJob(
  { sql, media }: Pick<Deps, 'sql' | 'media'>,
  orgId: string,
  id: string,
): Promise<ShownJob> {
  const job = await getJob({ sql }, orgId, id);
  const files = await Promise.all(
    job.fileIds.map((file) =>
      media.get(orgId, file).catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'not_found') return undefined;
        throw error;
      }),
    ),
  );
  return { job, files: files.filter((file) => file !== undefined) };
}

/** Jobs of other processes are looked at so often. */
const LOOK_MS = 1_000;

/**
 * Waits for the end of a job, at most `ms`, or until `signal` says that nobody waits for it any more; undefined: it
 * goes on.
 *
 * @throws AppError what it failed with: 502 with the provider where that is the cause
 */
export async function awaitJob(
  deps: Deps,
  orgId: string,
  id: string,
  { ms, signal }: { ms: number; signal?: AbortSignal },
): Promise<ShownJob | undefined> {
  const end = deps.clock.monotonic() + ms;
  for (;;) {
    const left = end - deps.clock.monotonic();
    const heard = deps.waiters.until(id, Math.max(0, Math.min(LOOK_MS, left)), signal); // before the look
    const job = await getJob(deps, orgId, id);
    if (job.state === 'done') return showJob(deps, orgId, id);
    if (job.endedAt) throw failureOfJob(job);
    if (left <= 0 || signal?.aborted) return undefined;
    await heard;
  }
}

/** Why a job failed, as an answer to whoever asked for it. */
function failureOfJob({ id, providerId, errorCode, error, exceeded, state }: JobRow): AppError {
  const code = errorCode !== null && errorCode in STATUS ? (errorCode as ErrorCode) : undefined;
  const message = error ?? 'The job failed';
  if (code === undefined) return new AppError('conflict', message, { jobId: id, detail: state });
  const provider = code === 'provider_failed' ? { provider: providerId } : {};
  return new AppError(code, message, { jobId: id, detail: state, ...provider, ...exceeded });
}
