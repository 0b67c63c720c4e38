/** A picture as a network takes it. Width and height are those of the bytes. */
export interface Picture {
  data: Uint8Array;
  contentType: string;
  width: number;
  height: number;
}
interface Source {
  contentType: string;
  bytes(): Promise<Uint8Array>;
}
interface Fit {
  /** Greatest size in bytes. */
  maxBytes?: number | undefined;
  /** Greatest width times height. */
  maxPixels?: number | undefined;
  /** Content types that may stay as they are; others become JPEG. */
  types: readonly string[];
}

const QUALITIES = [86, 70];
const SMALLEST_SIDE = 64;

/** The picture as it is when it fits, else encoded anew as JPEG: first plainer, then smaller. Undefined for what is no picture, or none that can be read here. */
export async function fitPicture(source: Source, { maxBytes = Infinity, maxPixels = Infinity, types }: Fit): Promise<Picture | undefined> {
  if (!source.contentType.startsWith('image/')) return undefined;
  const data = await source.bytes();
  const { default: sharp } = await import('sharp');
  const metadata = await sharp(data)
    .metadata()
    .catch(() => undefined); // a format that sharp has no reader for
  if (!metadata) return undefined;
  const { autoOrient } = metadata;
  const { width, height } = autoOrient;
  if (data.length <= maxBytes && width * height <= maxPixels && types.includes(source.contentType))
    return { data, contentType: source.contentType, width, height };

  let scale = Math.min(1, Math.sqrt(maxPixels / (width * height)));
  while (Math.max(width, height) * scale >= SMALLEST_SIDE) {
    let least = Infinity;
    for (const quality of QUALITIES) {
      const image = sharp(data)
        .autoOrient()
        .flatten({ background: '#fff' })
        .resize({ width: Math.max(1, Math.round(width * scale)) });
      const { data: encoded, info } = await image.jpeg({ quality }).toBuffer({ resolveWithObject: true });
      if (encoded.length <= maxBytes) return { data: encoded, contentType: 'image/jpeg', width: info.width, height: info.height };
      least = encoded.length;
    }
    scale *= Math.min(Math.max(0.95 * Math.sqrt(maxBytes / least), 0.3), 0.9); // about as much smaller as the bytes must become fewer
  }
  return undefined;
}
