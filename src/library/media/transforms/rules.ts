import { z } from 'zod';
import { invalidField } from '../../../platform/kernel/index.ts';
import { MOST_PICTURE_BYTES } from '../bodies.ts';
import type { PictureFormat } from '../picture-work.ts';
import { READABLE } from '../rules.ts';
import type { FileRow } from '../store.ts';

/** Sides of a picture that is made here; some formats know no larger ones. */
const MOST_SIDE = 8_192;
const LONGEST_S = 86_400;
const side = z.int().min(1).max(MOST_SIDE);
const offset = z.int().min(0).max(1_000_000);
const seconds = z.number().min(0).max(LONGEST_S);

export const PICTURE_TYPES = ['jpeg', 'png', 'webp', 'avif'] as const;
export const FITS = ['inside', 'cover', 'contain', 'fill'] as const;

const Resize = z.strictObject({
  operation: z.literal('resize'),
  params: z
    .strictObject({ width: side.optional(), height: side.optional(), fit: z.enum(FITS).default('inside') })
    .refine(({ width, height }) => width !== undefined || height !== undefined, {
      path: ['width'],
      message: 'width, height or both',
    }),
});
const Crop = z.strictObject({
  operation: z.literal('crop'),
  params: z.strictObject({ left: offset, top: offset, width: side, height: side }),
});
const Convert = z.strictObject({
  operation: z.literal('convert'),
  params: z.strictObject({ type: z.enum(PICTURE_TYPES) }),
});
const Trim = z.strictObject({
  operation: z.literal('trim'),
  params: z.strictObject({ from: seconds.default(0), to: seconds }).refine(({ from, to }) => to > from, {
    path: ['to'],
    message: 'later than from',
  }),
});

/** A change of a file. Sides and offsets are pixels of the upright picture, `from` and `to` seconds. */
export const Transform = z.discriminatedUnion('operation', [Crop, Resize, Convert, Trim]);
export type Transform = z.output<typeof Transform>;
export const TRANSFORMS = ['resize', 'crop', 'trim', 'convert'] as const satisfies readonly Transform['operation'][];

/** How ffmpeg writes what it was given, without encoding it anew. */
export const CONTAINERS: ReadonlyMap<string, string> = new Map([
  ['video/mp4', 'mp4'],
  ['video/x-m4v', 'mp4'],
  ['video/quicktime', 'mov'],
  ['video/webm', 'webm'],
  ['audio/mpeg', 'mp3'],
  ['audio/wav', 'wav'],
  ['audio/mp4', 'ipod'],
  ['audio/ogg', 'ogg'],
]);

type Source = Pick<FileRow, 'kind' | 'mime' | 'bytes' | 'width' | 'height' | 'durationMs'>;
const unable = (why: string) => invalidField('operation', why, 'unsupported');

/**
 * Judges a wish by what the file is. `canTrim`: the machine has the program for it.
 *
 * @throws AppError 400 that names the field
 */
export function checkTransform(file: Source, { operation, params }: Transform, canTrim: boolean): void {
  if (operation === 'trim') return checkTrim(file, params, canTrim);
  if (file.kind === 'video' || file.kind === 'audio')
    throw unable('videos and sounds can be trimmed, and nothing else');
  if (!READABLE.has(file.mime)) throw unable('files of this type cannot be changed');
  if (file.bytes > MOST_PICTURE_BYTES)
    throw invalidField('id', `a picture of at most ${MOST_PICTURE_BYTES} bytes`, 'too_big');
  if (operation !== 'crop' || file.width === null || file.height === null) return;
  if (params.left + params.width > file.width)
    throw invalidField('params.width', `left and width together are at most ${file.width} pixels`, 'too_big');
  if (params.top + params.height > file.height)
    throw invalidField('params.height', `top and height together are at most ${file.height} pixels`, 'too_big');
}

function checkTrim({ mime, durationMs }: Source, { from }: { from: number }, canTrim: boolean): void {
  if (!CONTAINERS.has(mime)) throw unable('only videos and sounds can be trimmed');
  if (!canTrim) throw unable('videos and sounds cannot be trimmed here: the server has no ffmpeg');
  if (durationMs !== null && from * 1_000 >= durationMs)
    throw invalidField('params.from', `less than the ${durationMs / 1_000} seconds of the file`, 'too_big');
}

const FORMATS: ReadonlyMap<string, PictureFormat> = new Map([
  ['image/jpeg', 'jpeg'],
  ['image/png', 'png'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['image/avif', 'avif'],
  ['image/tiff', 'tiff'],
]);
/** The format of a changed picture: its own, unless another one is asked for. */
export const formatOf = ({ mime }: Pick<FileRow, 'mime'>, wish: Transform): PictureFormat =>
  wish.operation === 'convert' ? wish.params.type : FORMATS.get(mime)!; // READABLE has no others

/** The name of a result: that of the file, which ends as the new type does. */
export const nameOfResult = (name: string, extension: string): string =>
  `${name.replace(/\.[a-z0-9]{2,4}$/i, '')}.${extension}`;

/** Jobs of one organization that have not ended; more are refused. */
export const MOST_OPEN = 50;
/** Attempts at one job: a file may be too much for whoever works on it. */
export const MOST_ATTEMPTS = 3;
/** The wait after a failure that may pass. */
export const repeatInMs = (attempt: number): number => 5_000 * 2 ** attempt;
