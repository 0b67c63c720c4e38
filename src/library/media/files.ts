import { AppError, invalidField, isId, notFound } from '../../platform/kernel/index.ts';
import { type LibraryFile, libraryFileOf, type MediaDeps } from './deps.ts';
import { keyOfUrl } from './rules.ts';
import * as store from './store.ts';

const PAGE = 18; // S150

type Deps = Pick<MediaDeps, 'sql' | 'backendUrl'>;

export interface Information {
  name?: string | undefined;
  alt?: string | undefined;
  folder?: string | null | undefined;
  thumbnail?: string | null | undefined;
  thumbnailTimestamp?: number | undefined;
}

/**
 * Shows in the library what was uploaded without being shown; `name` is its name in the storage, or its address (S150).
 */
export async function saveUploaded(
  deps: Deps,
  orgId: string,
  name: string,
  originalName?: string,
): Promise<LibraryFile> {
  const key = keyOfUrl(deps.backendUrl, name) ?? (name.includes('/') ? name : `${orgId}/${name}`);
  const file = await store.listFile(deps.sql, orgId, key, originalName);
  if (!file) throw invalidField('name', 'there is no such upload', 'unknown_id');
  return libraryFileOf(deps, file);
}

/** Lists page `page` of the library, from 1. */
export async function pageOfFiles(
  deps: Deps,
  orgId: string,
  page: number,
  filter: store.FileFilter,
): Promise<{ pages: number; results: LibraryFile[]; total: number }> {
  const { files, total } = await store.listFiles(deps.sql, orgId, filter, { limit: PAGE, offset: (page - 1) * PAGE });
  return { pages: Math.ceil(total / PAGE), results: files.map((file) => libraryFileOf(deps, file)), total };
}

export const getFile = async (deps: Deps, orgId: string, id: string): Promise<LibraryFile> =>
  libraryFileOf(deps, await rowOf(deps, orgId, id));

/** Who made a file; undefined when it is not there. */
export const findFileAuthor = async (
  { sql }: Pick<Deps, 'sql'>,
  orgId: string,
  id: string,
): Promise<string | null | undefined> => (isId(id) ? store.fileAuthor(sql, orgId, id) : undefined);

export async function describeFile(
  deps: Deps,
  orgId: string,
  id: string,
  { thumbnail, thumbnailTimestamp, ...information }: Information,
): Promise<LibraryFile> {
  const file = await rowOf(deps, orgId, id);
  const changed = await store.updateFile(deps.sql, orgId, id, {
    ...information,
    thumbnailKey: await thumbnailKeyOf(deps, file, thumbnail),
    thumbnailTimestampMs: thumbnailTimestamp,
  });
  if (!changed) throw notFound('File not found');
  return libraryFileOf(deps, changed);
}

/** Soft; 409 while a queued post uses it, unless `force`. */
export async function removeFile(
  { sql }: Pick<Deps, 'sql'>,
  orgId: string,
  id: string,
  { force }: { force: boolean },
): Promise<void> {
  const result = isId(id) ? await store.deleteFile(sql, orgId, id, force) : 'missing';
  if (result === 'missing') throw notFound('File not found');
  if (result === 'used')
    throw new AppError(
      'conflict',
      'A scheduled post or a channel uses this file: send ?force=true to delete it all the same',
    );
}

async function rowOf({ sql }: Pick<Deps, 'sql'>, orgId: string, id: string): Promise<store.FileRow> {
  const [file] = isId(id) ? await store.filesById(sql, orgId, [id]) : [];
  if (!file) throw notFound('File not found');
  return file;
}

/** Undefined: it stays as it is. */
async function thumbnailKeyOf(
  { sql, backendUrl }: Deps,
  file: store.FileRow,
  thumbnail: string | null | undefined,
): Promise<string | null | undefined> {
  if (thumbnail === undefined) return undefined;
  if (thumbnail === null || thumbnail === '') return null;
  const key = keyOfUrl(backendUrl, thumbnail);
  const [cover] = key === undefined ? [] : await store.filesByKey(sql, file.orgId, [key]);
  if (cover?.kind === 'image') return cover.storageKey;
  if (key === undefined || key !== file.thumbnailKey)
    throw invalidField('thumbnail', 'the address of a picture in the library');
  return undefined;
}
