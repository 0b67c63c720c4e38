import { isUnavailable, keepAnswer, type KeptAnswer, type Sql } from '../../../platform/db/index.ts';
import { AppError, newId } from '../../../platform/kernel/index.ts';
import type { MultipartStore, Part } from '../../../providers/registry/index.ts';
import { tooLarge } from '../incoming.ts';
import { abortUpload } from './abandon.ts';
import { mintKey } from '../ingest.ts';
import { announced } from '../rules.ts';
import { openParts, providerUploadOf, type UploadName, type UploadsDeps } from './deps.ts';
import * as store from './store.ts';

export interface NewUpload {
  name: string;
  size: number;
  type?: string | undefined;
  fileHash?: string | undefined;
}

type BegunUpload = UploadName & { partSize: number };

const MOST_OPEN = 100; // of one organization
// of one organization, as announced: they may all lie here before anything becomes a file
const MOST_OPEN_BYTES = 10 * 1024 ** 3;

/**
 * Begins an upload, or goes on with the one that the same person began with the same file. `partSize`: bytes of every
 * part but the last.
 */
export async function beginUpload(
  deps: UploadsDeps,
  orgId: string,
  userId: string,
  { name, size, type, fileHash }: NewUpload,
  kept?: KeptAnswer<BegunUpload>,
): Promise<BegunUpload> {
  const { sql, storages, maxBytes } = deps;
  const format = announced(type, name);
  if (!format)
    throw new AppError(
      'unsupported_media',
      'This kind of file is not accepted: send a picture, a video, a sound or a PDF',
    );
  const chosen = await storages.choose(orgId);
  const { store: storage, ...where } = storages.forParts(chosen);
  const multipart = storage.multipart!;
  const room = { ownStorage: chosen.ownStorage, ownParts: where.ownStorage };
  const wanted = { orgId, createdBy: userId, name, fileHash: fileHash ?? null, bytes: size };
  const known = await findResumable(deps, { ...wanted, ...where });
  if (known) return known;

  if (size > maxBytes) throw tooLarge(maxBytes);
  await sql.begin((tx) => expectRoom(deps, tx, orgId, size, room));
  const key = mintKey(orgId, format.extension);
  const upload = await multipart.begin(key, { bytes: size, mime: format.mime });
  const row: store.UploadRow = {
    ...wanted,
    ...where,
    id: newId(),
    mime: format.mime,
    storageKey: key,
    providerUploadId: upload.id,
  };
  const begun = { uploadId: row.id, key, partSize: multipart.partBytes(size) };
  try {
    await sql.begin(async (tx) => {
      await expectRoom(deps, tx, orgId, size, room); // others may have begun some meanwhile
      await store.insertUpload(tx, row);
      await keepAnswer(tx, kept, begun);
    });
  } catch (error) {
    // its commit may have held, and the answer that is kept with it names this upload to whoever repeats the request
    if (kept && isUnavailable(error)) throw error;
    // what cannot be dropped now can be gone on with, and is given up when it is old
    await dropUnheard(deps, row)
      .then(() => multipart.abort(upload))
      .catch(() => undefined);
    throw error;
  }
  return begun;
}

/** Deletes the row of an upload that nobody hears of: its commit may have held, or still be under way, which is waited for. */
const dropUnheard = ({ sql }: Pick<UploadsDeps, 'sql'>, { orgId, id }: store.UploadRow) =>
  sql.begin(async (tx) => {
    await store.lockUploads(tx, orgId);
    await store.dropUpload(tx, orgId, id);
  });

/**
 * Refuses at once what could not become a file in the end. `ownStorage`: the file goes to a storage of the
 * organization. `ownParts`: its parts do, too.
 */
async function expectRoom(
  { billing, maxBytes }: Pick<UploadsDeps, 'billing' | 'maxBytes'>,
  tx: Sql,
  orgId: string,
  bytes: number,
  { ownStorage, ownParts }: { ownStorage: boolean; ownParts: boolean },
): Promise<void> {
  if (billing.enabled && !ownStorage) await billing.lockOrg(tx, orgId);
  await store.lockUploads(tx, orgId);
  const open = await store.openUploadsOf(tx, orgId);
  if (billing.enabled && !ownStorage) await billing.admit(tx, orgId, 'storage_gb', open.bytes + bytes);
  if (open.n >= MOST_OPEN)
    throw new AppError(
      'conflict',
      `${MOST_OPEN} uploads have been begun and not completed: complete or abort one first`,
    );
  if (!ownParts && open.bytes + bytes > Math.max(MOST_OPEN_BYTES, maxBytes))
    throw new AppError(
      'conflict',
      `Uploads of ${open.bytes} bytes have been begun and not completed: complete or abort one first`,
    );
}

/** Answers whether each of these parts is what it is in a whole that is cut into parts of this size. */
const areOfSize = (size: number, bytes: number, arrived: readonly Part[]): boolean =>
  arrived.every((part) => part.bytes === Math.min(size, bytes - (part.number - 1) * size));

/**
 * The part size to go on with; undefined: the parts can no longer become the whole. Another size may have been told
 * when they came, and parts of two sizes never make up what was announced. For a bucket of the instance addresses are
 * signed for today's size; elsewhere parts may be of any, and whoever was told a larger one is told it again.
 */
function sizeToGoOn(
  { ownStorage, bytes }: store.UploadRow,
  { sign, partBytes }: MultipartStore,
  arrived: readonly Part[],
): number | undefined {
  const today = partBytes(bytes);
  if (areOfSize(today, bytes, arrived)) return today;
  if (sign && !ownStorage) return undefined;
  const largest = Math.max(...arrived.map((part) => part.bytes));
  return largest > today && areOfSize(largest, bytes, arrived) ? largest : today;
}

async function findResumable(
  deps: Pick<UploadsDeps, 'sql' | 'storages'>,
  row: Parameters<typeof store.uploadOfFile>[1],
): Promise<BegunUpload | undefined> {
  const found = row.fileHash === null ? undefined : await store.uploadOfFile(deps.sql, row);
  if (!found) return undefined;
  const { multipart } = await openParts(deps, found);
  const name = { uploadId: found.id, key: found.storageKey };
  const arrived = await multipart.parts(providerUploadOf(found));
  const partSize = arrived && sizeToGoOn(found, multipart, arrived);
  if (partSize !== undefined) return { ...name, partSize };
  // its room is needed by the one that begins now; what cannot be given up is when it is old
  if (arrived) await abortUpload(deps, found.orgId, name).catch(() => undefined);
  return undefined;
}
