import type { Database } from '../../platform/db/index.ts';
import { AppError, invalidField, isId, ProviderError } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import type { FileFacts, Limits, Media as ForAdapter, PictureRules } from '../../providers/registry/index.ts';
import { type Bodies, fitsAsIs, fitsUnseen, gone, MOST_PICTURE_BYTES, type Thumbnail } from './bodies.ts';
import type { Copies } from './copies.ts';
import { type Loading, openFitting } from './fitting.ts';
import { isHidden, type PublicUrlOf, reachable } from './public-url.ts';
import { asProviderError, ofStorage } from './remote.ts';
import { domainAllowed, formatOfKey, keyOfUrl, ownAddresses, urlOfKey } from './rules.ts';
import * as store from './store.ts';
import type { FileRow } from './store.ts';
import type { StoragePlace, Storages } from './storages.ts';

/** A picture or video as a post names it: a file of the organization, else an address. */
export interface MediaItem {
  id?: string | undefined;
  path: string;
  alt: string;
  thumbnail?: string | null | undefined;
  /** The moment of a video whose frame is its cover, in ms. */
  thumbnailTimestamp?: number | undefined;
}

/** A field of a body that names files: a list of them, or one alone (`isOne`), whose own field it is. */
interface FilesField {
  at: string;
  items: readonly MediaItem[];
  isOne?: boolean | undefined;
}

/** What posts ask of the library. */
export interface MediaOfPosts {
  /** What the addresses of files of this service begin with: media elsewhere are fetched. */
  readonly ownAddresses: readonly string[];
  /**
   * Judges the addresses of a body before it is stored, by form, literal address and RESTRICT_UPLOAD_DOMAINS (S125,
   * S260); `at` names the field.
   */
  judge(orgId: string, fields: readonly FilesField[]): Promise<void>;
  /**
   * The same of many bodies, in one statement and one more where they name own thumbnails: what is known of each file,
   * what `judge` throws of it, and its path: that of the file where its id names one.
   */
  judgeFiles(
    orgId: string,
    fields: readonly FilesField[],
  ): Promise<{ facts: FileFacts | undefined; fault: AppError | undefined; path: string }[][]>;
  /** What is known of the files of posts; undefined for one that lies outside, null for one that cannot be published. */
  facts(orgId: string, posts: readonly (readonly MediaItem[])[]): Promise<(FileFacts | undefined | null)[][]>;
  /** A post has settled: what was fetched for it is no longer needed. */
  settled(orgId: string, items: readonly MediaItem[]): Promise<void>;
  /**
   * The pictures and videos of a post, for an adapter, until `attempt.signal` says that its attempt is over. A
   * `ProviderError` says whether trying again can help.
   */
  load(orgId: string, items: readonly MediaItem[], attempt: Loading): Promise<ForAdapter[]>;
}

interface Options {
  sql: Database;
  outbound: Pick<Outbound, 'judge'>;
  storages: Storages;
  copies: Copies;
  bodies: Bodies;
  publicUrlOf: PublicUrlOf;
  maxBytes: number;
  backendUrl: string;
  restrictDomains: readonly string[];
}

export function openPostMedia(options: Options): MediaOfPosts {
  const { sql, outbound, copies, backendUrl, restrictDomains } = options;
  const loadOne = openLoadOne(options);

  /** The file that each item names; undefined where it lies outside. An id or an own path that is no file is null. */
  async function ownFiles(
    orgId: string,
    items: readonly MediaItem[],
    find: typeof store.usableFiles,
  ): Promise<(FileRow | null | undefined)[]> {
    const ids = items.flatMap(({ id }) => (id !== undefined && isId(id) ? [id] : []));
    const keys = items.flatMap(({ path }) => keyOfUrl(backendUrl, path) ?? []);
    const found = ids.length + keys.length > 0 ? await find(sql, orgId, ids, keys) : [];
    const [byId, byKey] = [
      new Map(found.map((one) => [one.id, one])),
      new Map(found.map((one) => [one.storageKey, one])),
    ];
    return items.map(({ id, path }) => {
      const key = keyOfUrl(backendUrl, path);
      const file = byId.get(id ?? '') ?? byKey.get(key ?? '');
      if (file) return file;
      return key !== undefined || path === '' ? null : undefined;
    });
  }

  function faultOutside(url: string, field: string): AppError | undefined {
    try {
      outbound.judge(url);
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      return error.ofField(field);
    }
    if (domainAllowed(restrictDomains, url)) return undefined;
    const message = `${field}: media must be hosted at ${restrictDomains.join(', ')}`;
    return new AppError('media_domain_not_allowed', message, { errors: [{ field, message, rule: 'domain' }] });
  }

  /** The keys of own pictures that items name as thumbnails, and that the organization has. */
  async function ownThumbnails(orgId: string, items: readonly MediaItem[]): Promise<Set<string | null>> {
    const keys = items.flatMap(({ thumbnail }) => (thumbnail && keyOfUrl(backendUrl, thumbnail)) || []);
    const found = keys.length > 0 ? await store.filesOfThumbnails(sql, orgId, keys) : [];
    return new Set(found.flatMap(({ storageKey, thumbnailKey }) => [storageKey, thumbnailKey]));
  }

  /** Why an item cannot be stored; `own`: its file, null for one that is not there. */
  function faultOf(
    { path, thumbnail }: MediaItem,
    own: FileRow | null | undefined,
    thumbnails: ReadonlySet<string | null>,
    at: { path: string; thumbnail: string },
  ): AppError | undefined {
    if (own === null) return invalidField(at.path, 'there is no such file');
    const fault = own === undefined ? faultOutside(path, at.path) : undefined;
    if (fault || !thumbnail) return fault;
    const key = keyOfUrl(backendUrl, thumbnail);
    if (key === undefined) return faultOutside(thumbnail, at.thumbnail);
    return thumbnails.has(key) ? undefined : invalidField(at.thumbnail, 'there is no such file');
  }

  /** Where what is published lies: an item whose id names a file has no other address, whatever it was sent with. */
  const pathOf = ({ path }: MediaItem, own: FileRow | null | undefined): string =>
    own && keyOfUrl(backendUrl, path) !== own.storageKey ? urlOfKey(backendUrl, own.storageKey) : path;

  const judgeFiles: MediaOfPosts['judgeFiles'] = async (orgId, fields) => {
    const all = fields.flatMap(({ items }) => items);
    const [own, thumbnails] = await Promise.all([ownFiles(orgId, all, store.presentFiles), ownThumbnails(orgId, all)]);
    let next = 0;
    return fields.map(({ at, items, isOne }) =>
      items.map((item, n) => {
        const file = own[next++];
        const fault = faultOf(item, file, thumbnails, {
          path: isOne ? at : `${at}.${n}.path`,
          thumbnail: isOne ? at : `${at}.${n}.thumbnail`,
        });
        return { facts: factsOf(backendUrl, file, item), fault, path: pathOf(item, file) };
      }),
    );
  };

  return {
    ownAddresses: ownAddresses(backendUrl),
    judgeFiles,
    async judge(orgId, fields) {
      const fault = (await judgeFiles(orgId, fields)).flat().find((one) => one.fault)?.fault;
      if (fault) throw fault;
    },
    async facts(orgId, posts) {
      const own = await ownFiles(orgId, posts.flat(), store.usableFiles);
      let n = 0;
      return posts.map((items) =>
        items.map((item) => {
          const file = own[n++];
          return file === null ? null : factsOf(backendUrl, file, item);
        }),
      );
    },
    async settled(orgId, items) {
      if (items.some(({ path }) => path !== '' && keyOfUrl(backendUrl, path) === undefined)) await copies.drop(orgId);
    },
    async load(orgId, items, attempt) {
      const own = await ownFiles(orgId, items, store.usableFiles);
      return Promise.all(items.map((item, n) => loadOne(orgId, item, own[n], attempt)));
    },
  };
}

/** Loads one item of a post; `own`: the file of the organization that it names, null where that is gone. */
function openLoadOne(options: Options) {
  const { sql, storages, copies, bodies, publicUrlOf, maxBytes, backendUrl } = options;
  const fitting = openFitting(options);
  /** At most so much of a file is fetched for a network. */
  function greatestOf({ mediaTypes, video }: Limits): number {
    const takesVideos = mediaTypes.some((type) => !type.startsWith('image/'));
    return takesVideos ? Math.max(video?.bytes ?? maxBytes, MOST_PICTURE_BYTES) : MOST_PICTURE_BYTES;
  }

  const fail = (error: unknown): never => {
    throw ofStorage(error);
  };

  /** Where looking costs nothing: what is not there is told before the network is asked. */
  async function expectThere(
    { storageKey }: FileRow,
    { store: storage, storageSettingId }: StoragePlace,
  ): Promise<void> {
    if (storageSettingId !== null) return;
    const stored = await storage.open(storageKey).catch(fail);
    if (!stored) throw gone(storageSettingId);
    await stored[Symbol.asyncDispose]();
  }

  /** The picture that was chosen for a video; undefined when it is gone: the network makes its own. */
  async function thumbnailOf(orgId: string, address: string, attempt: Loading): Promise<Thumbnail | undefined> {
    const key = keyOfUrl(backendUrl, address);
    if (key === undefined) {
      const copy = await copies.of(orgId, address, MOST_PICTURE_BYTES).catch((error: unknown) => {
        const failure = asProviderError(error, address);
        if (failure instanceof ProviderError && failure.failure === 'rejected') return undefined;
        throw failure;
      });
      return copy?.kind === 'image' ? fileSent(copy, address, reachable(address), attempt) : undefined;
    }
    const [file] = await store.filesOfThumbnails(sql, orgId, [key]);
    const format = formatOfKey(key);
    if (!file || format?.kind !== 'image') return undefined;
    const place = await storages.at(orgId, file);
    const publicUrl = await publicUrlOf({ storageKey: key }, place);
    if (file.storageKey === key) return fileSent(file, address, publicUrl, attempt);
    const stored = await place.store.open(key).catch(fail);
    if (!stored) return undefined;
    await stored[Symbol.asyncDispose]();
    const said = { name: `thumbnail.${format.extension}`, contentType: format.mime, size: stored.size };
    const sent = bodies.sent({ orgId, storageKey: key }, said, place, attempt.signal);
    const isSame = (rules: PictureRules) => fitsUnseen(said, rules);
    return { ...sent, fit: fitting({ orgId, id: key, path: address, publicUrl, isSame, fit: sent.fit }, attempt) };
  }

  /** A file as it is sent; a picture can be made to fit. */
  async function fileSent(file: FileRow, path: string, publicUrl: string | undefined, attempt: Loading) {
    const sent = bodies.of(file, await storages.at(file.orgId, file), attempt.signal);
    const isSame = (rules: PictureRules) => fitsAsIs(file, rules);
    const { orgId, id } = file;
    return { ...sent, fit: fitting({ orgId, id, path, publicUrl, isSame, fit: sent.fit }, attempt) };
  }

  return async function loadOne(
    orgId: string,
    item: MediaItem,
    own: FileRow | null | undefined,
    attempt: Loading,
  ): Promise<ForAdapter> {
    if (own === null)
      throw new ProviderError('rejected', 'A picture or video of this post is no longer in the library');
    const file =
      own ??
      (await copies.of(orgId, item.path, greatestOf(attempt.limits)).catch((error: unknown) => {
        throw asProviderError(error, item.path);
      }));
    const place = await storages.at(orgId, file);
    await expectThere(file, place);
    const publicUrl = own ? await publicUrlOf(file, place) : reachable(item.path); // a copy goes with its post
    const thumbnail = item.thumbnail && file.kind === 'video' && (await thumbnailOf(orgId, item.thumbnail, attempt));
    const coverAtMs = item.thumbnailTimestamp ?? file.thumbnailTimestampMs ?? undefined;
    return {
      ...(await fileSent(file, item.path, publicUrl, attempt)),
      kind: file.kind,
      alt: item.alt || file.alt,
      ...(publicUrl !== undefined && { publicUrl }),
      ...(thumbnail && { thumbnail }),
      ...(file.kind === 'video' && coverAtMs !== undefined && { coverAtMs }),
      ...(file.width !== null && file.height !== null && { width: file.width, height: file.height }),
      ...(file.durationMs !== null && { seconds: file.durationMs / 1_000 }),
    };
  };
}

const factsOf = (
  backendUrl: string,
  file: FileRow | null | undefined,
  { thumbnail }: MediaItem,
): FileFacts | undefined =>
  file
    ? {
        contentType: file.mime,
        size: file.bytes,
        width: file.width ?? undefined,
        height: file.height ?? undefined,
        seconds: file.durationMs === null ? undefined : file.durationMs / 1_000,
        thumbnail: thumbnail || undefined,
        isHidden: isHidden(backendUrl, file),
      }
    : undefined;
