import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Sql } from '../db/index.ts';
import { AppError, type Clock, invalidField, isId, newId, notFound, ProviderError, randomBase62 } from '../kernel/index.ts';
import { type Outbound, OutboundError } from '../outbound/index.ts';
import type { Media as PostMedia } from '../providers/index.ts';
import { type FileShape, presentFile } from './present.ts';
import { makeThumbnail, probe } from './probe.ts';
import { receive, type Received, receiveUpload, tooLarge } from './receive.ts';
import { domainAllowed, formatOfKey, keyOfUrl, shownName, urlOfKey } from './rules.ts';
import { localStorage, type Storage } from './storage.ts';
import * as store from './store.ts';
import type { FileRow, Filter } from './store.ts';

const PAGE = 18; // S150
const COPY_FRESH_MS = 15 * 60_000; // S260
const COPY_KEPT_MS = 24 * 3_600_000;

export interface MediaOptions {
  sql: Sql;
  clock: Clock;
  outbound: Outbound;
  /** Where local files lie. */
  folder: string;
  /** Public address of this service, without a trailing slash. */
  backendUrl: string;
  maxBytes: number;
  /** RESTRICT_UPLOAD_DOMAINS; empty: media may be hosted anywhere. */
  restrictDomains: readonly string[];
}

/** A picture or film as a post names it: a file of the organization, else an address. */
export interface MediaItem {
  id?: string | undefined;
  path: string;
  alt: string;
  thumbnail?: string | null | undefined;
}
export interface Information {
  name?: string | undefined;
  alt?: string | undefined;
  folder?: string | null | undefined;
  thumbnail?: string | null | undefined;
  thumbnailTimestamp?: number | undefined;
}

/** What is answered for a stored object. `range` is the part that is sent; `unsatisfiable` when the asked one lies outside. */
export interface Served extends AsyncDisposable {
  size: number;
  mime: string;
  /** Shown by a browser, or only saved by it. */
  inline: boolean;
  etag: string;
  modified: Date;
  read(range?: { start: number; end: number }): Readable;
}

export interface Media {
  /** Takes the one `file` of a multipart request, streaming; 400, 413 and 415 as in S147. */
  upload(orgId: string, request: IncomingMessage): Promise<FileShape>;
  /** Fetches a file through the outbound guard (S148). */
  uploadFromUrl(orgId: string, url: string, name?: string): Promise<FileShape>;
  /** Page `page` of the library, from 1. */
  list(orgId: string, page: number, filter: Filter): Promise<{ pages: number; results: FileShape[]; total: number }>;
  get(orgId: string, id: string): Promise<FileShape>;
  describe(orgId: string, id: string, information: Information): Promise<FileShape>;
  /** Soft; 409 while a queued post uses it, unless `force`. */
  remove(orgId: string, id: string, options: { force: boolean }): Promise<void>;
  /** Judges the addresses of a post before it is stored, by form, literal address and RESTRICT_UPLOAD_DOMAINS (S125, S260); `at` names the field. */
  judge(orgId: string, items: readonly MediaItem[], at: string): Promise<void>;
  /** Fetches what lies outside, so that publishing does not wait for it. At most 15 minutes before the post is due (S260). */
  prepare(orgId: string, items: readonly MediaItem[]): Promise<void>;
  /** The pictures and films of a post, for an adapter. A `ProviderError` says whether trying again can help. */
  load(orgId: string, items: readonly MediaItem[]): Promise<PostMedia[]>;
  /** A stored object by the path below `/uploads/`; undefined: nothing that may be served. */
  serve(path: string): Promise<Served | undefined>;
  /** Forgets copies of outside media and remains of uploads that were cut off; answers how many. */
  sweep(): Promise<number>;
}

/** The media room with the local storage. */
export async function openMedia(options: MediaOptions): Promise<Media> {
  const { sql, clock, outbound, backendUrl, maxBytes } = options;
  const incoming = join(options.folder, '.incoming');
  await mkdir(incoming, { recursive: true, mode: 0o750 });
  const storage: Storage = localStorage(options.folder);
  const present = (file: FileRow) => presentFile(file, backendUrl);

  interface Origin {
    name: string | undefined;
    folder: string | null;
    listed: boolean;
    sourceUrl: string | null;
  }

  /** Looks at the bytes, moves them into the storage and writes the row; nothing is left in the storage when that fails. */
  async function keep(orgId: string, received: Received, { name, folder, listed, sourceUrl }: Origin): Promise<FileRow> {
    const probed = await probe(received.path);
    const key = `${orgId}/${randomBase62(32)}.${probed.extension}`;
    const thumbnail = `${received.path}-small`;
    const thumbnailKey = listed && (await makeThumbnail(received.path, probed, thumbnail)) ? `${orgId}/${randomBase62(32)}.webp` : null;
    const shown = shownName(name, `file.${probed.extension}`);
    try {
      await storage.keep(key, received.path);
      if (thumbnailKey) await storage.keep(thumbnailKey, thumbnail);
      return await store.insertFile(sql, {
        id: newId(),
        orgId,
        name: shown,
        originalName: shown,
        storageId: storage.id,
        storageVersion: storage.version,
        storageKey: key,
        thumbnailKey,
        alt: '',
        kind: probed.kind,
        mime: probed.mime,
        bytes: received.size,
        width: probed.width,
        height: probed.height,
        folder,
        listed,
        sourceUrl,
      });
    } catch (error) {
      await Promise.allSettled([storage.remove(key), thumbnailKey ? storage.remove(thumbnailKey) : undefined, rm(thumbnail, { force: true })]);
      throw error;
    }
  }

  async function fetchFile(url: string): Promise<Received> {
    const answer = await outbound.stream(url, { maxBytes, timeoutMs: 120_000 });
    if (answer.status !== 200) {
      answer.cancel();
      throw new FetchRefused(answer.status);
    }
    return receive(answer.body, incoming, maxBytes);
  }

  /** A copy of an outside address that is fresh enough, fetched now when there is none. */
  async function copyOf(orgId: string, url: string): Promise<FileRow> {
    const known = await store.freshCopy(sql, orgId, url, COPY_FRESH_MS);
    if (known) return known;
    await using received = await fetchFile(url);
    return await keep(orgId, received, { name: nameOfUrl(url), folder: null, listed: false, sourceUrl: url }); // awaited here: its bytes go when this ends
  }

  /** The file of the organization that each item names; undefined where it lies outside. An id or an own path that is no file of it is null. */
  async function ownFiles(orgId: string, items: readonly MediaItem[]): Promise<(FileRow | null | undefined)[]> {
    const ids = items.flatMap(({ id }) => (id !== undefined && isId(id) ? [id] : []));
    const keys = items.flatMap(({ path }) => keyOfUrl(backendUrl, path) ?? []);
    const byId = ids.length > 0 ? new Map((await store.filesById(sql, orgId, ids)).map((file) => [file.id, file])) : undefined;
    const byKey = keys.length > 0 ? new Map((await store.filesByKey(sql, orgId, keys)).map((file) => [file.storageKey, file])) : undefined;
    return items.map(({ id, path }) => {
      const key = keyOfUrl(backendUrl, path);
      const file = (id === undefined ? undefined : byId?.get(id)) ?? (key === undefined ? undefined : byKey?.get(key));
      if (file) return file;
      return key !== undefined || path === '' ? null : undefined;
    });
  }

  async function loadOne(orgId: string, item: MediaItem, own: FileRow | null | undefined): Promise<PostMedia> {
    if (own === null) throw new ProviderError('rejected', 'A picture or film of this post is no longer in the library');
    const file =
      own ??
      (await copyOf(orgId, item.path).catch((error: unknown) => {
        throw asProviderError(error, item.path);
      }));
    return {
      name: `${file.id}.${file.storageKey.split('.').at(-1)}`,
      contentType: file.mime,
      alt: item.alt || file.alt,
      url: urlOfKey(backendUrl, file.storageKey),
      ...(file.width !== null && file.height !== null && { width: file.width, height: file.height }),
      async bytes() {
        const stored = await storage.open(file.storageKey);
        if (!stored) throw new ProviderError('rejected', 'The bytes of a picture or film are no longer in the storage');
        return buffer(stored.read());
      },
    };
  }

  function judgeOutside(url: string, field: string): void {
    try {
      outbound.judge(url);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (error.failure === 'invalid') throw invalidField(field, `${field}: ${error.message}`, 'invalid_format');
      throw new AppError(error.code, error.message, { errors: [{ field, message: `${field}: ${error.message}`, rule: 'blocked' }] }, { cause: error });
    }
    if (domainAllowed(options.restrictDomains, url)) return;
    const message = `${field}: media must be hosted at ${options.restrictDomains.join(', ')}`;
    throw new AppError('media_domain_not_allowed', message, { errors: [{ field, message, rule: 'domain' }] });
  }

  async function fileOrThrow(orgId: string, id: string): Promise<FileRow> {
    const [file] = isId(id) ? await store.filesById(sql, orgId, [id]) : [];
    if (!file) throw notFound('File not found');
    return file;
  }

  return {
    async upload(orgId, request) {
      await using received = await receiveUpload(request, incoming, maxBytes);
      const { fields, filename } = received;
      return present(
        await keep(orgId, received, { name: filename, folder: fields['folder'] || null, listed: fields['preventSave'] !== 'true', sourceUrl: null }),
      );
    },

    async uploadFromUrl(orgId, url, name) {
      try {
        await using received = await fetchFile(url);
        if (received.size === 0) throw new FetchRefused(200);
        return present(await keep(orgId, received, { name: name ?? nameOfUrl(url), folder: null, listed: true, sourceUrl: null }));
      } catch (error) {
        if (error instanceof OutboundError && error.failure === 'too_large') throw tooLarge(maxBytes);
        if (error instanceof OutboundError && error.failure === 'invalid') throw invalidField('url', `url: ${error.message}`);
        if (error instanceof AppError && !(error instanceof OutboundError && error.code === 'provider_failed')) throw error;
        if (error instanceof FetchRefused || error instanceof OutboundError) throw new AppError('invalid_request', 'Failed to fetch URL', {}, { cause: error });
        throw error;
      }
    },

    async list(orgId, page, filter) {
      const { files, total } = await store.listFiles(sql, orgId, filter, { limit: PAGE, offset: (page - 1) * PAGE });
      return { pages: Math.ceil(total / PAGE), results: files.map(present), total };
    },

    get: async (orgId, id) => present(await fileOrThrow(orgId, id)),

    async describe(orgId, id, { thumbnail, thumbnailTimestamp, ...information }) {
      const file = await fileOrThrow(orgId, id);
      let thumbnailKey: string | null | undefined;
      if (thumbnail === null || thumbnail === '') thumbnailKey = null;
      else if (thumbnail !== undefined) {
        const key = keyOfUrl(backendUrl, thumbnail);
        const [cover] = key === undefined ? [] : await store.filesByKey(sql, orgId, [key]);
        if (cover?.kind === 'image') thumbnailKey = cover.storageKey;
        else if (key === undefined || key !== file.thumbnailKey) throw invalidField('thumbnail', 'thumbnail: the address of a picture in the library');
      }
      const changed = await store.updateFile(sql, orgId, id, { ...information, thumbnailKey, thumbnailTimestampMs: thumbnailTimestamp });
      if (!changed) throw notFound('File not found');
      return present(changed);
    },

    async remove(orgId, id, { force }) {
      const result = isId(id) ? await store.deleteFile(sql, orgId, id, force, backendUrl) : 'missing';
      if (result === 'missing') throw notFound('File not found');
      if (result === 'used') throw new AppError('conflict', 'A scheduled post uses this file: send ?force=true to delete it all the same');
    },

    async judge(orgId, items, at) {
      const own = await ownFiles(orgId, items);
      items.forEach(({ path, thumbnail }, n) => {
        if (own[n] === null) throw invalidField(`${at}.${n}.path`, `${at}.${n}.path: there is no such file`);
        if (own[n] === undefined) judgeOutside(path, `${at}.${n}.path`);
        if (thumbnail && keyOfUrl(backendUrl, thumbnail) === undefined) judgeOutside(thumbnail, `${at}.${n}.thumbnail`);
      });
    },

    async prepare(orgId, items) {
      const own = await ownFiles(orgId, items);
      await Promise.all(items.filter((_, n) => own[n] === undefined).map(({ path }) => copyOf(orgId, path)));
    },

    async load(orgId, items) {
      const own = await ownFiles(orgId, items);
      return Promise.all(items.map((item, n) => loadOne(orgId, item, own[n])));
    },

    async serve(path) {
      const format = formatOfKey(path);
      const stored = format && (await storage.open(path));
      if (!stored) return undefined;
      const { size, modified } = stored;
      return {
        size,
        modified,
        mime: format.mime,
        inline: format.kind !== 'document',
        etag: `"${size.toString(36)}-${modified.getTime().toString(36)}"`,
        read: (range) => stored.read(range),
        [Symbol.asyncDispose]: () => stored[Symbol.asyncDispose](),
      };
    },

    async sweep() {
      const copies = await store.takeOldCopies(sql, COPY_KEPT_MS, 500);
      await Promise.all(copies.map(({ storageKey }) => storage.remove(storageKey)));
      const remains = await Promise.all(
        (await readdir(incoming)).map(async (name) => {
          const path = join(incoming, name);
          const stats = await stat(path).catch(() => undefined);
          if (!stats || clock.now().getTime() - stats.mtimeMs < COPY_KEPT_MS) return 0;
          await rm(path, { force: true });
          return 1;
        }),
      );
      return copies.length + remains.reduce<number>((sum, n) => sum + n, 0);
    },
  };
}

/** The other side answered, with something that is no file. */
class FetchRefused extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`The address answered with status ${status}`);
    this.status = status;
  }
}

function nameOfUrl(url: string): string | undefined {
  const last = URL.canParse(url) ? new URL(url).pathname.split('/').at(-1)! : '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** What a failed fetch means for the post: the same request can succeed later, or never. */
function asProviderError(error: unknown, url: string): unknown {
  const where = URL.canParse(url) ? new URL(url).host : 'the address';
  if (error instanceof FetchRefused)
    return error.status >= 500 || error.status === 429 || error.status === 408
      ? new ProviderError('unavailable', `A picture or film cannot be fetched from ${where} at the moment`, { cause: error })
      : new ProviderError('rejected', `A picture or film is not there any more: ${where} answered ${error.status}`, { cause: error });
  if (error instanceof OutboundError && ['unreachable', 'interrupted', 'timeout'].includes(error.failure))
    return new ProviderError('unavailable', `A picture or film cannot be fetched from ${where} at the moment`, { cause: error });
  if (error instanceof AppError) return new ProviderError('rejected', error.message, { cause: error });
  return error;
}
