import { keepAnswer, type KeptAnswer } from '../../../platform/db/index.ts';
import { AppError, isId, newId, notFound } from '../../../platform/kernel/index.ts';
import { type LibraryFile, libraryFileOf } from '../deps.ts';
import { expectStorage } from '../made.ts';
import { filesById } from '../store.ts';
import type { TransformsDeps } from './deps.ts';
import { checkTransform, MOST_OPEN, type Transform } from './rules.ts';
import { countOpenTransforms, findTransform, insertTransform, type TransformRow } from './store.ts';
import { endTransformWithin } from './work.ts';

/** A job with its result; undefined while there is none, and when it was deleted since. */
export interface ShownTransform {
  job: TransformRow;
  file: LibraryFile | undefined;
}

const RETRY_MS = 60_000;

/**
 * Writes down that a file is to be changed. A worker makes a new file of it, which has the name, the folder, the
 * alternative text and the provenance of the file; the file itself stays as it is.
 *
 * @throws AppError 400 for what cannot be done with this file, 402 without room, 404, 429 where too many wait
 */
export async function createTransform(
  deps: TransformsDeps,
  orgId: string,
  userId: string,
  { id: fileId, wish }: { id: string; wish: Transform },
  kept?: KeptAnswer<ShownTransform>,
): Promise<ShownTransform> {
  const [file] = isId(fileId) ? await filesById(deps.sql, orgId, [fileId]) : [];
  if (!file) throw notFound('File not found');
  checkTransform(file, wish, deps.trim !== undefined);
  await expectStorage(deps, orgId);
  const shown = await deps.sql.begin(async (tx): Promise<ShownTransform> => {
    if ((await countOpenTransforms(tx, orgId)) >= MOST_OPEN)
      throw new AppError('rate_limited', `${MOST_OPEN} files wait to be changed already: let some of them end first`, {
        retryAfterMs: RETRY_MS,
      });
    const job = await insertTransform(tx, { id: newId(), orgId, userId, sourceId: file.id, wish });
    await keepAnswer(tx, kept, { job, file: undefined });
    return { job, file: undefined };
  });
  deps.wake();
  return shown;
}

/** A change of a file of the organization; undefined: there is no such job. */
export async function showTransform(
  deps: Pick<TransformsDeps, 'sql' | 'backendUrl'>,
  orgId: string,
  id: string,
): Promise<ShownTransform | undefined> {
  const job = await findTransform(deps.sql, orgId, id);
  if (!job) return undefined;
  const [file] = job.fileId === null ? [] : await filesById(deps.sql, orgId, [job.fileId]);
  return { job, file: file && libraryFileOf(deps, file) };
}

/**
 * Cancels a change of a file; what is made of it meanwhile is thrown away.
 *
 * @throws AppError `conflict` for one that has ended otherwise
 */
export async function cancelTransform(
  deps: Pick<TransformsDeps, 'sql' | 'backendUrl'>,
  { id, orgId }: Pick<TransformRow, 'id' | 'orgId'>,
): Promise<void> {
  if (await endTransformWithin(deps, deps.sql, { id, orgId }, { state: 'cancelled', error: 'Cancelled' })) return;
  const job = await findTransform(deps.sql, orgId, id);
  if (job?.state !== 'cancelled')
    throw new AppError('conflict', `This job is ${job?.state ?? 'gone'} and can no longer be cancelled`);
}
