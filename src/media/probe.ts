import { fileTypeFromBuffer, fileTypeFromFile } from 'file-type';
import type { Sharp } from 'sharp';
import { AppError } from '../kernel/index.ts';
import { openFilms } from './film.ts';
import { openPosters } from './poster.ts';
import { ACCEPTED, type Format, READABLE } from './rules.ts';
import { openTurns } from './turns.ts';

export interface Probed extends Format {
  width: number | null;
  height: number | null;
  durationMs: number | null;
  codecs: readonly string[];
}

export interface Prober {
  /** What a file is by its first bytes; `unsupported_media` for what is not accepted. */
  typeOf(head: Uint8Array): Promise<Format>;
  /** Whether more can be learned of such a file than its first bytes say. */
  needsWhole(format: Format): boolean;
  /** What a file of this machine is, judged by its content alone (S147). Anything that is not accepted, or a picture that cannot be read, is `unsupported_media`. */
  look(path: string): Promise<Probed>;
  /** Writes a small WebP of a picture or a film, with nothing of what was noted in it beside the picture; false: it cannot be drawn here. */
  thumbnail(path: string, probed: Pick<Probed, 'mime' | 'kind' | 'durationMs'>, target: string): Promise<boolean>;
}

const MOST_PIXELS = 100_000_000; // a picture of a few kilobytes can unpack to gigabytes
const PICTURE_SECONDS = 30;
const AT_ONCE = 2; // pictures, and films, of one process: each may take a few hundred megabytes
const refused = (what: string, cause?: unknown) => new AppError('unsupported_media', what, {}, { cause });

function accepted(detected: { mime: string } | undefined): Format {
  const format = detected && ACCEPTED.get(detected.mime);
  if (!format) throw refused('This kind of file is not accepted: send a picture, a film, a sound or a PDF');
  return format;
}

/** Its readers, of the formats that are accepted and no others: content that looks like one format to us must not reach the reader of another. */
const PICTURE_READERS = ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif', 'Tiff'].map((name) => `VipsForeignLoad${name}`);
let opened: Promise<typeof import('sharp').default> | undefined;
async function openSharp() {
  const { default: sharp } = await import('sharp');
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: PICTURE_READERS });
  return sharp;
}

async function openPicture(from: string | Buffer, failOn: 'none' | 'error'): Promise<Sharp> {
  const sharp = await (opened ??= openSharp());
  return sharp(from, { limitInputPixels: MOST_PIXELS, failOn }).timeout({ seconds: PICTURE_SECONDS });
}

async function sizeOf(path: string): Promise<Pick<Probed, 'width' | 'height'>> {
  try {
    const { autoOrient, pages, pageHeight } = await (await openPicture(path, 'error')).metadata();
    return { width: autoOrient.width, height: pages && pages > 1 && pageHeight ? pageHeight : autoOrient.height };
  } catch (cause) {
    throw refused('This picture cannot be read', cause);
  }
}

async function draw(from: string | Buffer, target: string): Promise<boolean> {
  try {
    const picture = await openPicture(from, 'none');
    await picture.autoOrient().resize(400, 400, { fit: 'inside', withoutEnlargement: true }).webp({ quality: 75 }).toFile(target);
    return true;
  } catch {
    return false;
  }
}

/** The commands: films are not looked into where there is no `ffprobe`, and not drawn where there is no `ffmpeg`. */
export async function openProber({ ffprobe, ffmpeg }: { ffprobe: string; ffmpeg: string }): Promise<Prober> {
  const [films, posters] = await Promise.all([openFilms(ffprobe), openPosters(ffmpeg)]);
  const [pictureTurn, filmTurn] = [openTurns(AT_ONCE), openTurns(AT_ONCE)];
  const plays = ({ kind }: Format) => kind === 'video' || kind === 'audio';

  return {
    typeOf: async (head) => accepted(await fileTypeFromBuffer(head).catch(() => undefined)),
    needsWhole: (format) => READABLE.has(format.mime) || (films !== undefined && plays(format)) || (posters !== undefined && format.kind === 'video'),
    async look(path) {
      const format = accepted(await fileTypeFromFile(path).catch(() => undefined));
      const unknown: Probed = { ...format, width: null, height: null, durationMs: null, codecs: [] };
      if (READABLE.has(format.mime)) return { ...unknown, ...(await pictureTurn(() => sizeOf(path))) };
      return films && plays(format) ? { ...unknown, ...(await filmTurn(() => films(path))) } : unknown;
    },
    async thumbnail(path, { mime, kind, durationMs }, target) {
      const from = kind === 'video' ? posters && (await filmTurn(() => posters(path, durationMs))) : READABLE.has(mime) ? path : undefined;
      return from !== undefined && (await pictureTurn(() => draw(from, target)));
    },
  };
}
