import sharp from 'sharp';

/** What is done with a picture that a stranger sent; paths are of files of this machine. */
export type Job =
  | { kind: 'measure'; path: string }
  | { kind: 'thumbnail'; path: string; target: string }
  | { kind: 'fit'; path: string; target: string; maxBytes: number; maxPixels: number }
  | { kind: 'transform'; path: string; target: string; change: PictureChange; format: PictureFormat };
export type PictureFormat = 'jpeg' | 'png' | 'webp' | 'avif' | 'gif' | 'tiff';
/** Sides and offsets are pixels of the upright picture. */
export type PictureChange =
  | {
      operation: 'resize';
      params: {
        width?: number | undefined;
        height?: number | undefined;
        fit: 'inside' | 'cover' | 'contain' | 'fill';
      };
    }
  | { operation: 'crop'; params: { left: number; top: number; width: number; height: number } }
  | { operation: 'convert' };
export interface Size {
  width: number;
  height: number;
}
/** `undefined`: it cannot be done with this picture. */
export type Done = Size | undefined;

const MOST_PIXELS = 100_000_000; // a picture of a few kilobytes can unpack to gigabytes
/**
 * Its readers, of the formats that are accepted and no others: content that looks like one format to us must not reach
 * the reader of another.
 */
const READERS = ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif', 'Tiff'].map((name) => `VipsForeignLoad${name}`);
const QUALITIES = [86, 70];
const SMALLEST_SIDE = 64;
const MOST_TRIES = 12;

sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: READERS });
sharp.cache(false);
sharp.concurrency(1);

async function measure(path: string): Promise<Size> {
  const { autoOrient, pages, pageHeight } = await sharp(path, {
    limitInputPixels: MOST_PIXELS,
    failOn: 'error',
  }).metadata();
  return { width: autoOrient.width, height: pages && pages > 1 && pageHeight ? pageHeight : autoOrient.height };
}

async function thumbnail(path: string, target: string): Promise<Size> {
  const picture = sharp(path, { limitInputPixels: MOST_PIXELS, failOn: 'none' }).autoOrient();
  return picture.resize(400, 400, { fit: 'inside', withoutEnlargement: true }).webp({ quality: 75 }).toFile(target);
}

/** Decodes the picture once, at the size that may be kept; what is tried afterwards is encoded from that. */
async function fit({ path, target, maxBytes, maxPixels }: Extract<Job, { kind: 'fit' }>): Promise<Done> {
  const { autoOrient } = await sharp(path, { limitInputPixels: MOST_PIXELS }).metadata();
  const wide = Math.max(
    1,
    Math.floor(autoOrient.width * Math.min(1, Math.sqrt(maxPixels / (autoOrient.width * autoOrient.height)))),
  );
  const source = sharp(path, { limitInputPixels: MOST_PIXELS })
    .autoOrient()
    .flatten({ background: '#fff' })
    .resize({ width: wide });
  const { data, info } = await source.raw().toBuffer({ resolveWithObject: true });
  const raw = { width: info.width, height: info.height, channels: info.channels };

  let scale = 1;
  const mayShrink = () => Math.max(info.width, info.height) * scale >= SMALLEST_SIDE;
  for (let tries = 0; tries === 0 || (tries < MOST_TRIES && mayShrink());) {
    let least = Infinity;
    for (const quality of QUALITIES) {
      tries += 1;
      const image = sharp(data, { raw }).resize({ width: Math.max(1, Math.round(info.width * scale)) });
      const { size, width, height } = await image.jpeg({ quality }).toFile(target);
      if (size <= maxBytes) return { width, height };
      least = size;
    }
    // about as much smaller as the bytes must become fewer
    scale *= Math.min(Math.max(0.95 * Math.sqrt(maxBytes / least), 0.3), 0.9);
  }
  return undefined;
}

const QUALITY = 90;

/**
 * Writes a changed picture in a format. A moving one stays so in a format that moves; of any other the first picture is
 * taken.
 */
async function transform({ path, target, change, format }: Extract<Job, { kind: 'transform' }>): Promise<Size> {
  const animated = format === 'gif' || format === 'webp';
  const picture = sharp(path, { limitInputPixels: MOST_PIXELS, failOn: 'error', animated }).autoOrient();
  if (change.operation === 'resize') picture.resize({ ...given(change.params), background: '#0000' });
  if (change.operation === 'crop') picture.extract(change.params);
  switch (format) {
    case 'jpeg':
      picture.flatten({ background: '#fff' }).jpeg({ quality: QUALITY });
      break;
    case 'avif':
      picture.avif({ quality: 70, effort: 2 }); // more effort takes minutes, and saves little
      break;
    case 'webp':
      picture.webp({ quality: QUALITY });
      break;
    case 'png':
    case 'gif':
    case 'tiff':
      picture.toFormat(format);
  }
  const { width, height, pageHeight } = await picture.toFile(target);
  return { width, height: pageHeight ?? height };
}
type Resized = Extract<PictureChange, { operation: 'resize' }>['params'];
/** The same without what is absent. */
const given = ({ width, height, ...how }: Resized) => ({
  ...how,
  ...(width !== undefined && { width }),
  ...(height !== undefined && { height }),
});

/** Does one job; rejects for what is no picture, is broken or too large. */
export function work(job: Job): Promise<Done> {
  switch (job.kind) {
    case 'measure':
      return measure(job.path);
    case 'thumbnail':
      return thumbnail(job.path, job.target);
    case 'fit':
      return fit(job);
    case 'transform':
      return transform(job);
  }
}
