import type { IncomingMessage } from 'node:http';
import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { AppError, type Clock, invalidField, isId, notFound } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import { type ItemName, openImport, type StockItem } from './import-item.ts';
import { openCopies } from './copies.ts';
import { openBodies } from './bodies.ts';
import { openIngest, type Origin } from './ingest.ts';
import { openPostMedia, type MediaOfPosts } from './post-media.ts';
import { openPictures } from './pictures.ts';
import { openProber } from './probe.ts';
import { type IncomingLog, openIncoming, type ReceivedFile } from './incoming.ts';
import { receiveUpload } from './receive.ts';
import { asInputError, nameOfUrl, openRemote, type Remote } from './remote.ts';
import { type NamedPart, keyOfUrl, plainLine, urlOfKey } from './rules.ts';
import { openServe, type Served } from './serve.ts';
import { openStorages } from './storages.ts';
import * as store from './store.ts';
import type { FileRow, FileFilter } from './store.ts';
import { openSweep } from './sweep.ts';
import { openUploads, type UploadName, type Uploads } from './uploads.ts';

const PAGE = 18; // S150

export interface MediaOptions {
  sql: Database;
  clock: Clock;
  outbound: Outbound;
  billing: Pick<Billing, 'enabled' | 'admit' | 'lockOrg'>;
  /** Opened with `folder` as theirs. */
  providers: Pick<Providers, 'resolve' | 'storage'>;
  settings: Pick<ProviderSettings, 'chosen' | 'pinned'>;
  /** Where local files lie. */
  folder: string;
  /** False: it is another one on each machine, so nothing is kept there. */
  isShared: boolean;
  /** Public address of this service, without a trailing slash. */
  backendUrl: string;
  maxBytes: number;
  /** LOCAL_STORAGE_QUOTA_GB: beyond it an upload still passes, with a warning (S153). */
  localQuotaBytes: number;
  /** RESTRICT_UPLOAD_DOMAINS; empty: media may be hosted anywhere. */
  restrictDomains: readonly string[];
  retention: { deletedDays: number; uploadDays: number };
  /** Signs the addresses of parts. */
  signingKey: string;
  log: IncomingLog;
}

export interface Information {
  name?: string | undefined;
  alt?: string | undefined;
  folder?: string | null | undefined;
  thumbnail?: string | null | undefined;
  thumbnailTimestamp?: number | undefined;
}

/** A file with its public addresses. */
export interface LibraryFile extends FileRow {
  path: string;
  thumbnail: string | null;
}

/** A new file. `overQuota`: the organization has more in the local storage than the soft quota (S153). */
export interface Kept {
  file: LibraryFile;
  overQuota: boolean;
}

export interface Media extends MediaOfPosts, AsyncDisposable {
  /** Takes the one `file` of a multipart request, streaming; 400, 413 and 415 as in S147. */
  upload(orgId: string, userId: string, request: IncomingMessage): Promise<Kept>;
  /** Fetches a file through the outbound guard (S148). */
  uploadFromUrl(orgId: string, userId: string, url: string, name?: string): Promise<Kept>;
  /** Uploads in parts (S149). */
  uploads: Omit<Uploads, 'complete' | 'dropAbandoned'> & {
    complete(orgId: string, name: UploadName, parts: readonly NamedPart[]): Promise<Kept>;
  };
  /**
   * The same for an item of a stock source, with its attribution. One file is made of an item, and it is acquired once;
   * whoever comes later gets that one.
   */
  importItem(orgId: string, userId: string, of: ItemName, acquire: () => Promise<StockItem>): Promise<Kept>;
  /**
   * Shows in the library what was uploaded without being shown; `name` is its name in the storage, or its address
   * (S150).
   */
  saveUploaded(orgId: string, name: string, originalName?: string): Promise<LibraryFile>;
  /** Page `page` of the library, from 1. */
  list(
    orgId: string,
    page: number,
    filter: FileFilter,
  ): Promise<{ pages: number; results: LibraryFile[]; total: number }>;
  get(orgId: string, id: string): Promise<LibraryFile>;
  /** Who made a file; undefined when it is not there. */
  authorOf(orgId: string, id: string): Promise<string | null | undefined>;
  describe(orgId: string, id: string, information: Information): Promise<LibraryFile>;
  /** Soft; 409 while a queued post uses it, unless `force`. */
  remove(orgId: string, id: string, options: { force: boolean }): Promise<void>;
  /** A stored object by the path below `/uploads/`; undefined: nothing that may be served. */
  serve(path: string): Promise<Served | undefined>;
  /**
   * Forgets copies of outside media, deleted files, abandoned uploads, and the bytes of all of them; answers how many,
   * `limit` at most of a kind.
   */
  sweep(limit: number): Promise<number>;
}

/** The media room, over the storages that the settings name. */
export async function openMedia(options: MediaOptions): Promise<Media> {
  const {
    sql,
    clock,
    outbound,
    billing,
    backendUrl,
    maxBytes,
    localQuotaBytes,
    restrictDomains,
    retention,
    signingKey,
  } = options;
  const incoming = await openIncoming(options.folder, options.log);
  const pictures = openPictures();
  const prober = await openProber({ pictures, ffprobe: 'ffprobe', ffmpeg: 'ffmpeg' });
  const storages = openStorages(options);
  const ingest = openIngest({ sql, billing, storages, prober });
  const fetchFile = openRemote({ outbound, incoming });
  const { dropAbandoned, ...uploads } = openUploads({
    sql,
    clock,
    billing,
    storages,
    prober,
    ingest,
    incoming,
    backendUrl,
    maxBytes,
    signingKey,
  });
  const copies = openCopies({ sql, storages, prober, incoming, ingest, fetchFile, maxBytes });
  const addressed = (file: FileRow): LibraryFile => ({
    ...file,
    path: urlOfKey(backendUrl, file.storageKey),
    thumbnail: file.thumbnailKey === null ? null : urlOfKey(backendUrl, file.thumbnailKey),
  });

  async function ingestReceived(orgId: string, { path, size }: ReceivedFile, origin: Origin): Promise<FileRow> {
    return ingest(orgId, { probed: await prober.look(orgId, path), bytes: size, path }, origin);
  }
  /** A file that somebody asked for by its address. */
  async function ingestFetched(orgId: string, from: Remote, origin: Origin): Promise<FileRow> {
    try {
      await using received = await fetchFile(from, maxBytes);
      return await ingestReceived(orgId, received, origin); // awaited here: its bytes go when this ends
    } catch (error) {
      throw asInputError(error, maxBytes);
    }
  }
  const importItem = openImport({
    sql,
    billing,
    storages,
    fetchFile: (from) => fetchFile(from, maxBytes),
    ingestReceived,
  });
  async function kept(file: FileRow): Promise<Kept> {
    const overQuota = file.storageSettingId === null && (await store.localBytes(sql, file.orgId)) > localQuotaBytes;
    return { file: addressed(file), overQuota };
  }

  async function fileOrThrow(orgId: string, id: string): Promise<FileRow> {
    const [file] = isId(id) ? await store.filesById(sql, orgId, [id]) : [];
    if (!file) throw notFound('File not found');
    return file;
  }

  return {
    ...openPostMedia({
      sql,
      outbound,
      storages,
      copies,
      bodies: openBodies({ pictures, incoming }),
      maxBytes,
      backendUrl,
      restrictDomains,
    }),
    uploads: { ...uploads, complete: async (orgId, name, parts) => kept(await uploads.complete(orgId, name, parts)) },
    serve: openServe({ sql, storages }),
    sweep: openSweep({
      sql,
      clock,
      storages,
      uploads: { dropAbandoned },
      incoming: incoming.folder,
      backendUrl,
      retention,
    }),

    async upload(orgId, userId, request) {
      await using received = await receiveUpload(request, incoming, maxBytes);
      const { fields, filename } = received;
      const listed = fields['preventSave'] !== 'true';
      return await kept(
        await ingestReceived(orgId, received, {
          name: filename,
          folder: plainLine(fields['folder'] ?? '') || null,
          listed,
          createdBy: userId,
          sourceUrl: null,
        }),
      );
    },

    uploadFromUrl: async (orgId, userId, url, name) =>
      kept(
        await ingestFetched(
          orgId,
          { url },
          { name: name ?? nameOfUrl(url), folder: null, listed: true, createdBy: userId, sourceUrl: null },
        ),
      ),

    importItem: async (orgId, userId, of, acquire) => kept(await importItem(orgId, userId, of, acquire)),

    async saveUploaded(orgId, name, originalName) {
      const key = keyOfUrl(backendUrl, name) ?? (name.includes('/') ? name : `${orgId}/${name}`);
      const file = await store.listFile(sql, orgId, key, originalName);
      if (!file) throw invalidField('name', 'name: there is no such upload', 'unknown_id');
      return addressed(file);
    },

    async list(orgId, page, filter) {
      const { files, total } = await store.listFiles(sql, orgId, filter, { limit: PAGE, offset: (page - 1) * PAGE });
      return { pages: Math.ceil(total / PAGE), results: files.map(addressed), total };
    },

    get: async (orgId, id) => addressed(await fileOrThrow(orgId, id)),

    authorOf: async (orgId, id) => (isId(id) ? store.fileAuthor(sql, orgId, id) : undefined),
    async describe(orgId, id, { thumbnail, thumbnailTimestamp, ...information }) {
      const file = await fileOrThrow(orgId, id);
      let thumbnailKey: string | null | undefined;
      if (thumbnail === null || thumbnail === '') thumbnailKey = null;
      else if (thumbnail !== undefined) {
        const key = keyOfUrl(backendUrl, thumbnail);
        const [cover] = key === undefined ? [] : await store.filesByKey(sql, orgId, [key]);
        if (cover?.kind === 'image') thumbnailKey = cover.storageKey;
        else if (key === undefined || key !== file.thumbnailKey)
          throw invalidField('thumbnail', 'thumbnail: the address of a picture in the library');
      }
      const changed = await store.updateFile(sql, orgId, id, {
        ...information,
        thumbnailKey,
        thumbnailTimestampMs: thumbnailTimestamp,
      });
      if (!changed) throw notFound('File not found');
      return addressed(changed);
    },

    async remove(orgId, id, { force }) {
      const result = isId(id) ? await store.deleteFile(sql, orgId, id, force, backendUrl) : 'missing';
      if (result === 'missing') throw notFound('File not found');
      if (result === 'used')
        throw new AppError('conflict', 'A scheduled post uses this file: send ?force=true to delete it all the same');
    },
    [Symbol.asyncDispose]: () => pictures[Symbol.asyncDispose](),
  };
}
