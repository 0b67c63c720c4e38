import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { OutboundError } from './contract.ts';

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};
const MOST_CODINGS = 3;

/** The readable end after undoing every content coding; one that is not known is left as it is. */
function decoded(body: Readable, coding: string | null): Readable {
  const names = (coding ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > MOST_CODINGS) throw new OutboundError('interrupted', 'The answer is packed too many times', { sent: true });
  const makers = names.toReversed().map((name) => DECODERS[name]);
  if (makers.length === 0 || makers.some((maker) => !maker)) return body;
  const streams = makers.map((maker) => maker!());
  return pipeline([body, ...streams], () => undefined) as unknown as Readable; // its end and its errors are seen by whoever reads it
}

/** The body in pieces, decompressed, at most `maxBytes` of it; `cut` ends it there, `fail` makes that an error. */
export async function* readBody(
  body: Readable,
  coding: string | null,
  { maxBytes, excess }: { maxBytes: number; excess: 'fail' | 'cut' },
): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  try {
    for await (const piece of decoded(body, coding) as AsyncIterable<Buffer>) {
      if (piece.length <= left) {
        left -= piece.length;
        yield piece;
        continue;
      }
      if (excess === 'fail') throw new OutboundError('too_large', `The answer is longer than ${maxBytes} bytes`, { sent: true });
      if (left > 0) yield piece.subarray(0, left);
      return;
    }
  } finally {
    body.on('error', () => undefined);
    body.destroy();
  }
}
