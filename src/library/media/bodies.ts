import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, ProviderError, randomBase62 } from '../../platform/kernel/index.ts';
import type {
  Media as ForAdapter,
  Picture,
  PictureRules,
  BodyReading,
  SentFile,
} from '../../providers/registry/index.ts';
import type { Pictures } from './pictures.ts';
import type { Incoming } from './incoming.ts';
import { ofStorage } from './remote.ts';
import { READABLE } from './rules.ts';
import type { FileRow } from './store.ts';
import type { StoragePlace } from './storages.ts';
import { openLimiter } from '../../platform/flow/index.ts';

/**
 * A file that is opened for sending holds about a megabyte on its way: in buffers here, and in those of its connection.
 */
const OPEN_AT_ONCE = 64;
const OPEN_OF_ONE = 16; // organization
/** A larger picture is not made to fit. */
export const MOST_PICTURE_BYTES = 128 * 1024 * 1024;

interface Options {
  pictures: Pictures;
  /** For what is made to fit, as long as an attempt lasts. */
  incoming: Incoming;
}
type Bytes = SentFile & Pick<ForAdapter, 'fit'>;
/** A picture that was chosen for a video, as adapters get it. */
export type Thumbnail = NonNullable<ForAdapter['thumbnail']>;
type Said = Pick<SentFile, 'name' | 'contentType' | 'size'>;
/** A stored object of a file: the file itself, or its thumbnail. */
export type ObjectOfFile = Pick<FileRow, 'orgId' | 'storageKey'>;
/** From `from` up to, but without, `to`. */
interface Range {
  from: number;
  to: number;
}
export interface Bodies {
  /** The bytes of an object, as a file of this name and type. A picture can be made to fit. */
  sent(object: ObjectOfFile, said: Said, place: StoragePlace, signal: AbortSignal): Thumbnail;
  /** A file of the library. */
  of(file: FileRow, place: StoragePlace, signal: AbortSignal): Bytes;
}

export const gone = (storageSettingId: string | null): ProviderError =>
  storageSettingId === null
    ? // another machine may have it: the post is tried again, there or when the folder is back
      new ProviderError('unavailable', 'A picture or video is not in the upload folder of this machine (UPLOAD_FOLDER)')
    : new ProviderError('rejected', 'The bytes of a picture or video are no longer in the storage');

/** Whether a picture is within the limits of a network as it is. */
export const fitsAsIs = (
  { width, height, bytes, mime }: FileRow,
  { maxBytes = Infinity, maxPixels = Infinity, types }: PictureRules,
): boolean =>
  width !== null && height !== null && bytes <= maxBytes && width * height <= maxPixels && types.includes(mime);

/** The same of one whose sides are not known: for a number of pixels it is made anew. */
export const fitsUnseen = (
  { size, contentType }: Pick<Said, 'size' | 'contentType'>,
  { maxBytes = Infinity, maxPixels, types }: PictureRules,
): boolean => maxPixels === undefined && size <= maxBytes && types.includes(contentType);

/** The files of a post as adapters send them: in pieces, and no longer than one attempt at the post lasts. */
export function openBodies({ pictures, incoming }: Options): Bodies {
  const limiter = openLimiter({ total: OPEN_AT_ONCE, perOwner: OPEN_OF_ONE });

  async function* read(
    { orgId, storageKey }: ObjectOfFile,
    { store, storageSettingId }: StoragePlace,
    signal: AbortSignal,
    { lent }: BodyReading = {},
    range?: Range,
  ): AsyncGenerator<Uint8Array> {
    if (range && range.to <= range.from) return;
    using _ = await limiter.enter(orgId, { signal });
    try {
      const stored = await store.open(storageKey);
      if (!stored) throw gone(storageSettingId);
      await using object = stored;
      const asked = range && { start: range.from, end: range.to - 1 };
      let missing = range ? range.to - range.from : object.size;
      const pieces: AsyncIterable<Uint8Array> = (lent && object.lend?.(lent, asked)) ?? object.read(asked);
      for await (const piece of pieces) {
        signal.throwIfAborted();
        missing -= piece.length;
        yield piece;
      }
      if (missing > 0) throw new ProviderError('unavailable', 'The storage of a picture or video ended it too early');
    } catch (error) {
      throw signal.aborted ? signal.reason : ofStorage(error);
    }
  }

  /** A picture that was made to fit, in a file of its own until the attempt is over. */
  async function fitted(
    object: ObjectOfFile,
    { name, size }: Said,
    place: StoragePlace,
    { maxBytes = Infinity, maxPixels = Infinity }: PictureRules,
    signal: AbortSignal,
  ): Promise<Picture | undefined> {
    const path = join(incoming.folder, `fit-${randomBase62(32)}`);
    const bring = () => incoming.receive(read(object, place, signal), size);
    const limits = { maxBytes, maxPixels };
    const made = await pictures.fit(object.orgId, bring, limits, path, signal).catch((error: unknown) => {
      throw error instanceof AppError && !(error instanceof ProviderError) && error.status >= 500
        ? new ProviderError('unavailable', error.message, { cause: error })
        : error;
    });
    if (!made) return undefined;
    const drop = () => void rm(path, { force: true }).catch(() => undefined); // else the sweep does it
    if (signal.aborted) drop();
    else signal.addEventListener('abort', drop, { once: true });
    return {
      name: name.replace(/\.[^.]*$/, '.jpg'),
      contentType: 'image/jpeg',
      size: made.bytes,
      width: made.width,
      height: made.height,
      open: () => createReadStream(path) as AsyncIterable<Uint8Array>,
      async *read(from, to) {
        if (to > from) yield* createReadStream(path, { start: from, end: to - 1 }) as AsyncIterable<Uint8Array>;
      },
    };
  }

  const bytesOf = (object: ObjectOfFile, said: Said, place: StoragePlace, signal: AbortSignal): SentFile => ({
    ...said,
    open: (how) => read(object, place, signal, how),
    read: (from, to, how) => read(object, place, signal, how, { from, to }),
  });

  return {
    sent(object, said, place, signal) {
      const body = bytesOf(object, said, place, signal);
      return {
        ...body,
        async fit(rules) {
          return fitsUnseen(said, rules) ? body : fitted(object, said, place, rules, signal);
        },
      };
    },
    of(file, place, signal) {
      const name = `${file.id}.${file.storageKey.split('.').at(-1)}`;
      const said = { name, contentType: file.mime, size: file.bytes };
      const body = bytesOf(file, said, place, signal);
      return {
        ...body,
        async fit(rules) {
          const { width, height, bytes, mime } = file;
          if (!READABLE.has(mime) || width === null || height === null) return undefined;
          if (fitsAsIs(file, rules)) return { ...body, width, height };
          return bytes > MOST_PICTURE_BYTES ? undefined : fitted(file, said, place, rules, signal);
        },
      };
    },
  };
}
