import type { IncomingMessage } from 'node:http';
import { keepAnswer, type KeptAnswer } from '../../platform/db/index.ts';
import { type LibraryFile, libraryFileOf, type MediaDeps } from './deps.ts';
import type { AlsoInCommit } from './ingest.ts';
import type { ItemName, StockItem } from './import-item.ts';
import { receiveUpload } from './receive.ts';
import { asInputError, nameOfUrl } from './remote.ts';
import { plainLine } from './rules.ts';
import { announceOverQuota, type FileRow, localBytes } from './store.ts';

/** A new file. `overQuota`: the organization has more in the local storage than the soft quota (S153). */
export interface AddedFile {
  file: LibraryFile;
  overQuota: boolean;
}

export async function keptOf(
  deps: Pick<MediaDeps, 'sql' | 'backendUrl' | 'localQuotaBytes'>,
  file: FileRow,
): Promise<AddedFile> {
  const { sql, localQuotaBytes } = deps;
  const bytes = file.storageSettingId === null ? await localBytes(sql, file.orgId) : 0;
  const overQuota = bytes > localQuotaBytes;
  if (overQuota) await announceOverQuota(sql, file.orgId, { bytes, quotaBytes: localQuotaBytes });
  return { file: libraryFileOf(deps, file), overQuota };
}

const keepIn =
  (deps: Pick<MediaDeps, 'backendUrl'>, kept: KeptAnswer<LibraryFile> | undefined): AlsoInCommit =>
  (tx, file) =>
    keepAnswer(tx, kept, libraryFileOf(deps, file));

/** Takes the one `file` of a multipart request, streaming; 400, 413 and 415 as in S147. */
export async function uploadFile(
  deps: MediaDeps,
  orgId: string,
  userId: string,
  request: IncomingMessage,
  kept?: KeptAnswer<LibraryFile>,
): Promise<AddedFile> {
  await using received = await receiveUpload(request, deps.incoming, deps.maxBytes);
  const { fields, filename } = received;
  const origin = {
    name: filename,
    folder: plainLine(fields['folder'] ?? '') || null,
    listed: fields['preventSave'] !== 'true',
    createdBy: userId,
    sourceUrl: null,
  };
  const file = await deps.ingestReceived(orgId, received, origin, keepIn(deps, kept));
  return await keptOf(deps, file);
}

/** Fetches a file through the outbound guard (S148). */
export async function uploadFromUrl(
  deps: MediaDeps,
  orgId: string,
  userId: string,
  { url, name }: { url: string; name?: string | undefined },
  kept?: KeptAnswer<LibraryFile>,
): Promise<AddedFile> {
  const origin = { name: name ?? nameOfUrl(url), folder: null, listed: true, createdBy: userId, sourceUrl: null };
  const fetched = async () => {
    await using received = await deps.fetchFile({ url }, deps.maxBytes);
    // awaited here: its bytes go when this ends
    return await deps.ingestReceived(orgId, received, origin, keepIn(deps, kept));
  };
  const file = await fetched().catch((error: unknown) => {
    throw asInputError(error, deps.maxBytes);
  });
  return keptOf(deps, file);
}

/**
 * The same for an item of a stock source, with its attribution. One file is made of an item, and it is acquired once;
 * whoever comes later gets that one.
 */
export const importItem = async (
  deps: MediaDeps,
  orgId: string,
  userId: string,
  of: ItemName,
  acquire: () => Promise<StockItem>,
): Promise<AddedFile> => keptOf(deps, await deps.makeItem(orgId, userId, of, acquire));
