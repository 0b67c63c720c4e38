import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const MIB = 1024 * 1024;

/** Writes a file of so many bytes that look like a film to whoever sends it. */
export const writeFilm = (path: string, bytes: number): Promise<void> =>
  pipeline(Readable.from(film(bytes)), createWriteStream(path));

function* film(bytes: number): Generator<Uint8Array> {
  const piece = randomBytes(MIB);
  for (let left = bytes; left > 0; left -= piece.length) yield left >= piece.length ? piece : piece.subarray(0, left);
}
