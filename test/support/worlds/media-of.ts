import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { openBodies } from '../../../src/library/media/bodies.ts';
import { openIncoming } from '../../../src/library/media/incoming.ts';
import { openPictures } from '../../../src/library/media/pictures.ts';
import type { FileRow } from '../../../src/library/media/store.ts';
import type { StoragePlace } from '../../../src/library/media/storages.ts';
import type { Media } from '../../../src/providers/registry/index.ts';

const incoming = await openIncoming(mkdtempSync(join(tmpdir(), 'rookery-media-of-')), { error: () => {} });
const bodies = openBodies({ pictures: openPictures(), incoming });
const KINDS = ['image', 'video', 'audio'] as const;
const never = new AbortController().signal;

type Read = (range: { start: number; end: number }) => Readable;
/** A place that has this object, whatever it is called. */
const placeOf = (data: Buffer, read?: Read) =>
  ({
    storageSettingId: null,
    store: { open: async () => ({ ...storedOf(data), ...(read && { read }) }) },
  }) as unknown as StoragePlace;
const storedOf = (data: Buffer) => ({
  size: data.length,
  modified: new Date(0),
  read: ({ start = 0, end = data.length - 1 } = {}) => Readable.from([data.subarray(start, end + 1)]),
  [Symbol.asyncDispose]: async () => {},
});

/** A file of the library as an adapter gets it, made of these bytes; `read` of its storage where it fails. */
export async function mediaOf(
  data: Uint8Array,
  said: Pick<Media, 'contentType' | 'name' | 'alt' | 'publicUrl' | 'thumbnail'>,
  signal = never,
  read?: Read,
): Promise<Media> {
  const { width = null, height = null } = await sharp(data)
    .metadata()
    .then(({ autoOrient }) => autoOrient)
    .catch(() => ({}) as { width?: number; height?: number });
  const file = {
    id: 'file',
    orgId: 'org',
    storageKey: said.name,
    mime: said.contentType,
    bytes: data.length,
    width,
    height,
  } as FileRow;
  const of = bodies.of(file, placeOf(Buffer.from(data), read), signal);
  const kind = KINDS.find((one) => said.contentType.startsWith(one)) ?? 'document';
  return { ...of, kind, ...said, ...(width !== null && height !== null && { width, height }) };
}

/** The attempt of a post that takes everything and never ends. */
export const ATTEMPT = {
  signal: never,
  limits: { text: 500, unit: 'characters', media: 20, mediaTypes: ['image/*', 'video/*'] },
} as const;
