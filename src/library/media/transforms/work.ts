import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, ProviderError, randomBase62 } from '../../../platform/kernel/index.ts';
import { append } from '../../../platform/outbox/index.ts';
import { urlOfKey } from '../rules.ts';
import { type FileRow, filesById } from '../store.ts';
import type { TransformsDeps } from './deps.ts';
import { CONTAINERS, formatOf, MOST_ATTEMPTS, nameOfResult, repeatInMs } from './rules.ts';
import { type ClaimedTransform, endTransform, repeatTransform, type TransformEnd } from './store.ts';

/** The claim was over, or the job was cancelled, while a result was kept: the file must not come. */
class Superseded extends Error {}

/** Makes what this process has claimed: a new file and the end of the job are one commit. Rejects for nothing. */
export async function makeTransform(deps: TransformsDeps, job: ClaimedTransform, signal: AbortSignal): Promise<void> {
  try {
    if (job.attempt > MOST_ATTEMPTS)
      throw new AppError('invalid_request', 'This is too much to be done with the file here: it was given up');
    await makeAndKeep(deps, job, signal);
  } catch (error) {
    if (error instanceof Superseded || signal.aborted) return;
    await refused(deps, job, error).catch((err: unknown) =>
      deps.log.warn({ err, jobId: job.id }, 'the end of a media transform could not be written, and is repeated'),
    );
  }
}

async function makeAndKeep(deps: TransformsDeps, job: ClaimedTransform, signal: AbortSignal): Promise<void> {
  const { sql, storages, bodies, incoming, prober, ingest } = deps;
  const { orgId } = job;
  const [file] = await filesById(sql, orgId, [job.sourceId]);
  if (!file) throw new AppError('conflict', 'The file that this starts from is no longer in the library');
  if (await incoming.isNearlyFull()) throw new AppError('unavailable', 'The disk for uploads is nearly full');
  const place = await storages.at(orgId, file);
  const path = join(incoming.folder, `changed-${randomBase62(32)}`);
  try {
    await using source = await incoming.receive(bodies.of(file, place, signal).open(), file.bytes);
    await change(deps, job, file, { source: source.path, target: path, signal });
    const probed = await prober.look(orgId, path);
    const name = job.wish.operation === 'convert' ? nameOfResult(file.name, probed.extension) : file.name;
    const { folder, alt, attribution, generated } = file;
    await ingest(
      orgId,
      { probed, bytes: (await stat(path)).size, path },
      {
        name,
        folder,
        alt,
        listed: true,
        createdBy: job.userId,
        sourceUrl: null,
        derivedFrom: file.id,
        ...(attribution && { attribution }),
        ...(generated && { generated }),
      },
      async (tx, made) => {
        if (!(await endTransformWithin(deps, tx, job, { state: 'done', fileId: made.id }, made)))
          throw new Superseded();
      },
    );
  } finally {
    await rm(path, { force: true });
  }
}

/** Writes the changed file to `target`; one of this process at a time, so that uploads always have a place. */
async function change(
  { pictures, trim, atWork }: TransformsDeps,
  { orgId, wish }: ClaimedTransform,
  file: FileRow,
  { source, target, signal }: { source: string; target: string; signal: AbortSignal },
): Promise<void> {
  using _ = await atWork.enter(orgId, { signal });
  const unable = () => new AppError('invalid_request', 'This cannot be done with the file');
  if (wish.operation !== 'trim') {
    if (!(await pictures.transform(orgId, source, wish, formatOf(file, wish), target, signal))) throw unable();
    return;
  }
  // another process of the service may have taken the job
  if (!trim) throw new AppError('unavailable', 'Videos and sounds cannot be trimmed here: the server has no ffmpeg');
  const video = { path: source, bytes: file.bytes, container: CONTAINERS.get(file.mime)! }; // it was checked
  if (!(await trim(video, wish.params, target))) throw unable();
}

/** Tries again what may pass; ends the job otherwise. */
async function refused(deps: TransformsDeps, job: ClaimedTransform, error: unknown): Promise<void> {
  const mayPass =
    error instanceof ProviderError
      ? error.failure === 'unavailable' || error.failure === 'rate_limited'
      : !(error instanceof AppError) || error.status >= 500;
  if (mayPass && job.attempt < MOST_ATTEMPTS)
    return void (await repeatTransform(deps.sql, job, repeatInMs(job.attempt)));
  if (!(error instanceof AppError))
    deps.log.error({ err: error, jobId: job.id }, 'a media transform broke, and is given up');
  const told =
    error instanceof AppError ? error : new AppError('unavailable', 'The file could not be changed on our side');
  const end = { state: 'failed', errorCode: told.code, error: told.message } as const;
  await deps.sql.begin((tx) => endTransformWithin(deps, tx, job, end));
}

/** Ends a job in the caller's transaction, with the fact; false: it had ended, or is somebody else's. */
export async function endTransformWithin(
  { backendUrl }: Pick<TransformsDeps, 'backendUrl'>,
  tx: Parameters<typeof endTransform>[0],
  job: Parameters<typeof endTransform>[1],
  end: TransformEnd,
  made?: Pick<FileRow, 'id' | 'storageKey'>,
): Promise<boolean> {
  const row = await endTransform(tx, job, end);
  if (!row) return false;
  if (end.state !== 'cancelled')
    await append(tx, [
      {
        orgId: row.orgId,
        topic: 'media.job_ended',
        entityId: row.id,
        payload: {
          userId: row.userId,
          operation: row.operation,
          providerId: 'library',
          state: end.state,
          fileIds: made ? [made.id] : [],
          path: made ? urlOfKey(backendUrl, made.storageKey) : null,
          error: row.error,
        },
      },
    ]);
  return true;
}
