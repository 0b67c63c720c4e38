import { fileTypeFromFile } from 'file-type';
import { AppError } from '../kernel/index.ts';
import { ACCEPTED, type Format, READABLE } from './rules.ts';

export interface Probed extends Format {
  width: number | null;
  height: number | null;
}

const MOST_PIXELS = 100_000_000; // a picture of a few kilobytes can unpack to gigabytes
const refused = (what: string, cause?: unknown) => new AppError('unsupported_media', what, {}, { cause });
const sharp = async () => (await import('sharp')).default;

/** What a file is, judged by its content alone (S147). Anything that is not accepted, or a picture that cannot be read, is `unsupported_media`. */
export async function probe(path: string): Promise<Probed> {
  const detected = await fileTypeFromFile(path).catch(() => undefined);
  const format = detected && ACCEPTED.get(detected.mime);
  if (!format) throw refused('This kind of file is not accepted: send a picture, a film, a sound or a PDF');
  if (!READABLE.has(format.mime)) return { ...format, width: null, height: null };
  try {
    const { autoOrient, pages, pageHeight } = await (await sharp())(path, { limitInputPixels: MOST_PIXELS, failOn: 'error' }).metadata();
    return { ...format, width: autoOrient.width, height: pages && pages > 1 && pageHeight ? pageHeight : autoOrient.height };
  } catch (cause) {
    throw refused('This picture cannot be read', cause);
  }
}

/** Writes a small WebP of a picture; false: it cannot be drawn here. */
export async function makeThumbnail(path: string, { mime }: Format, target: string): Promise<boolean> {
  if (!READABLE.has(mime)) return false;
  try {
    await (
      await sharp()
    )(path, { limitInputPixels: MOST_PIXELS, failOn: 'none' })
      .autoOrient()
      .resize(400, 400, { fit: 'inside', withoutEnlargement: true })
      .webp({ quality: 75 })
      .toFile(target);
    return true;
  } catch {
    return false;
  }
}
