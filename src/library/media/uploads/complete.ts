import { buffer } from 'node:stream/consumers';
import { AppError, isId, ProviderError } from '../../../platform/kernel/index.ts';
import type { MultipartStore } from '../../../providers/registry/index.ts';
import type { Judged } from '../ingest.ts';
import { type NamedPart, partsOfWhole } from '../rules.ts';
import { fileOfUpload, type FileRow } from '../store.ts';
import type { StoragePlace } from '../storages.ts';
import { CLAIM_MS } from './claim.ts';
import { openParts, providerUploadOf, unknownUpload, type UploadName, type UploadsDeps } from './deps.ts';
import * as store from './store.ts';

const RETRY_MS = 1_000;
const HEAD_BYTES = 1_048_576;

/**
 * Makes a file of the parts, judged by its content like any other. Once: whoever asks again gets the same file,
 * `conflict` as long as it is being made or when it was deleted since.
 */
export async function completeUpload(
  deps: UploadsDeps,
  orgId: string,
  name: UploadName,
  parts: readonly NamedPart[],
): Promise<FileRow> {
  const { sql } = deps;
  const row = isId(name.uploadId) ? await store.claimUpload(sql, orgId, name.uploadId, name.key, CLAIM_MS) : undefined;
  if (!row) return completedBefore(deps, orgId, name);
  try {
    return await becomeFile(deps, row, parts);
  } catch (error) {
    await store.releaseUpload(sql, orgId, row.id).catch(() => undefined); // else the claim ends by itself
    // The claim may have ended, so that somebody else made the file; or we made it, and the answer of the commit was
    // lost.
    const made = await fileOfUpload(sql, orgId, row.id).catch(() => undefined);
    if (!made) throw error;
    return completedBefore(deps, orgId, name);
  }
}

/** The file that somebody else has made of it, or is making. */
async function completedBefore(
  { sql }: Pick<UploadsDeps, 'sql'>,
  orgId: string,
  { uploadId, key }: UploadName,
): Promise<FileRow> {
  if (!isId(uploadId)) throw unknownUpload();
  // In this order: the file comes in the commit in which the upload goes.
  if (await store.findUpload(sql, orgId, uploadId, key))
    throw new AppError('conflict', 'This upload is being completed', { retryAfterMs: RETRY_MS });
  const made = await fileOfUpload(sql, orgId, uploadId);
  if (!made) throw unknownUpload();
  if (made.isDeleted) throw new AppError('conflict', 'This upload was completed, and its file has been deleted since');
  return made.file;
}

/** A file of the upload that this process has claimed. What is no file that may be kept is removed. */
async function becomeFile(deps: UploadsDeps, row: store.UploadRow, named: readonly NamedPart[]): Promise<FileRow> {
  const { place, multipart } = await openParts(deps, row);
  await assemble(row, multipart, named);
  const { name, createdBy, id: uploadId } = row;
  const origin = { name, folder: null, listed: true, createdBy, sourceUrl: null, uploadId };
  try {
    return await judge(deps, row, place, (judged) =>
      deps.ingest(row.orgId, judged, origin, async (tx) => {
        if (!(await store.dropUpload(tx, row.orgId, row.id)))
          throw new AppError('conflict', 'This upload was completed or aborted meanwhile');
      }),
    );
  } catch (error) {
    const isFinal =
      error instanceof AppError && ['unsupported_media', 'limit_exceeded', 'too_large'].includes(error.code);
    // else the sweep does it
    if (isFinal && (await store.dropUpload(deps.sql, row.orgId, row.id)))
      await place.store.remove([row.storageKey]).catch(() => undefined);
    throw error;
  }
}

/** Makes the object of these parts; it may be there already, when an earlier attempt came no further. */
async function assemble(row: store.UploadRow, multipart: MultipartStore, named: readonly NamedPart[]): Promise<void> {
  const upload = providerUploadOf(row);
  const arrived = await multipart.parts(upload);
  if (!arrived) return;
  const whole = partsOfWhole(named, arrived, row.bytes);
  await multipart.complete(upload, whole).catch((error: unknown) => {
    if (error instanceof ProviderError && error.failure === 'rejected')
      throw new AppError('invalid_request', error.message, {}, { cause: error });
    throw error;
  });
}

/** Judges the object by its content; the whole is read only where more can be learned of it. */
async function judge<T>(
  { prober, incoming, maxBytes }: Pick<UploadsDeps, 'prober' | 'incoming' | 'maxBytes'>,
  { orgId, storageKey: key }: store.UploadRow,
  place: StoragePlace,
  work: (judged: Judged) => Promise<T>,
): Promise<T> {
  const open = async () => {
    const stored = await place.store.open(key);
    if (!stored)
      throw new AppError('conflict', 'The parts of this upload are no longer in the storage: begin another one');
    return stored;
  };
  await using first = await open();
  const head = first.read({ start: 0, end: Math.min(first.size, HEAD_BYTES) - 1 });
  const format = await prober.typeOf(await buffer(head));
  const lies = { place, key };
  if (!prober.needsWhole(format))
    return work({
      probed: { ...format, width: null, height: null, durationMs: null, codecs: [] },
      bytes: first.size,
      lies,
    });
  await using whole = await open();
  await using copy = await incoming.receive(whole.read(), maxBytes);
  // awaited here: the copy goes when this ends
  return await work({ probed: await prober.look(orgId, copy.path), bytes: copy.size, path: copy.path, lies });
}
