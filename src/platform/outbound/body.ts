import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { OutboundError } from './contract.ts';

/** The most memory for unpacking one answer: 8 MB, as much as a sender may ask for (RFC 9659). */
const ZSTD_WINDOW = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };
type Decoder = () => NodeJS.ReadWriteStream;
const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', () => createZstdDecompress(ZSTD_WINDOW)],
]);
const MOST_CODINGS = 3;

/** The body after undoing every content coding; one that is not known is left as it is. */
function decoded(body: Readable, coding: string | null): AsyncIterable<Buffer> {
  const names = (coding ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (names.length > MOST_CODINGS)
    throw new OutboundError('interrupted', 'The answer is packed too many times', { sent: true });
  const makers = names.toReversed().map((name) => DECODERS.get(name));
  return makers.length === 0 || makers.some((maker) => !maker) ? body : unpacked(body, makers as Decoder[]);
}

async function* unpacked(body: Readable, makers: readonly Decoder[]): AsyncGenerator<Buffer> {
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await pieces.next();
  if (first.done) return; // a coding may be named where there is no body: HEAD, 204, 304
  const whole = async function* () {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => pieces };
  };
  // its end and its errors are seen by whoever reads it
  yield* pipeline([Readable.from(whole()), ...makers.map((maker) => maker())], () => undefined) as unknown as Readable;
}

/** The body in pieces, decompressed, at most `maxBytes` of it; `cut` ends it there, `fail` makes that an error. */
export async function* readAnswerBody(
  body: Readable,
  coding: string | null,
  { maxBytes, onTooLarge }: { maxBytes: number; onTooLarge: 'fail' | 'cut' },
): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  try {
    for await (const piece of decoded(body, coding)) {
      if (piece.length <= left) {
        left -= piece.length;
        yield piece;
        continue;
      }
      if (onTooLarge === 'fail')
        throw new OutboundError('too_large', `The answer is longer than ${maxBytes} bytes`, { sent: true });
      if (left > 0) yield piece.subarray(0, left);
      return;
    }
  } finally {
    body.on('error', () => undefined);
    body.destroy();
  }
}

/**
 * The whole of a body that is not packed, by its events: to go over its pieces costs several times as much. More than
 * `maxBytes` is an error.
 */
export function readWhole(body: Readable, maxBytes: number): Promise<Buffer> {
  return new Promise<Buffer>((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    let whole = false;
    body
      .on('data', (piece: Buffer) => {
        length += piece.length;
        pieces.push(piece);
        if (length <= maxBytes) return;
        reject(new OutboundError('too_large', `The answer is longer than ${maxBytes} bytes`, { sent: true }));
        body.destroy();
      })
      .on('end', () => {
        whole = true;
        resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
      })
      .on('error', reject)
      // an error costs its stack: none is made for an answer that is whole
      .on('close', () => whole || reject(new Error('The answer ended before its end')));
  });
}
