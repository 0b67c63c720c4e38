import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { refused } from '../kit/declare/fallback.ts';
import type { Content } from './_contract.ts';

export const MIB = 1024 * 1024;
/** Parts of one object that are sent at once. */
const TOGETHER = 4;
const TOGETHER_BYTES = 32 * MIB;
/** Memory for parts in this process; beyond it, parts wait. */
const lend = openBuffers(64 * MIB);

/** Answers the size of the parts of an object: at least `usual`, and such that there are at most `most` parts. */
export const partBytesOf = (
  bytes: number,
  { usual = 8 * MIB, most = 10_000 }: { usual?: number | undefined; most?: number | undefined } = {},
): number => Math.max(usual, Math.ceil(bytes / most / MIB) * MIB);

/**
 * Sends a content in parts of this size, a few at once, each held in memory until it is sent. After a failure no
 * further part is begun. A content of another length than declared is refused before its last part is sent.
 */
export async function sendParts(
  content: Content,
  partBytes: number,
  send: (number: number, data: Uint8Array) => Promise<void>,
): Promise<void> {
  await using reader = await openReader(content);
  const next = inParts(reader, content.bytes);
  const size = Math.min(partBytes, content.bytes);
  let over = false;
  const worker = async (): Promise<void> => {
    while (!over)
      await lend(size, async (buffer) => {
        const part = await next(buffer);
        if (!part) over = true;
        else if (!over) await send(part.number, part.data);
      }).catch((error: unknown) => {
        over = true;
        throw error;
      });
  };
  const together = Math.max(
    1,
    Math.min(TOGETHER, Math.floor(TOGETHER_BYTES / partBytes), Math.ceil(content.bytes / partBytes)),
  );
  const outcomes = await Promise.allSettled(Array.from({ length: together }, worker));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Reads a whole content. */
export async function wholeOf(content: Pick<Content, 'from' | 'bytes'>): Promise<Uint8Array> {
  await using reader = await openReader(content);
  const part = await inParts(reader, content.bytes)(Buffer.allocUnsafeSlow(content.bytes));
  return part!.data; // an empty content has one part
}

interface Reader extends AsyncDisposable {
  /** Answers the number of bytes written; fewer than fit mean the end. */
  fill(buffer: Uint8Array): Promise<number>;
}
async function openReader({ from }: Pick<Content, 'from'>): Promise<Reader> {
  if ('path' in from) {
    const handle = await open(from.path);
    const read = async (buffer: Uint8Array) => (await handle.read(buffer)).bytesRead;
    return { fill: (buffer) => filled(buffer, read), [Symbol.asyncDispose]: () => handle.close() };
  }
  const pieces = from[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  const read = async (buffer: Uint8Array) => {
    while (rest.length === 0) {
      const { done, value } = await pieces.next();
      if (done) return 0;
      rest = value;
    }
    const taken = Math.min(rest.length, buffer.length);
    buffer.set(rest.subarray(0, taken));
    rest = rest.subarray(taken);
    return taken;
  };
  return { fill: (buffer) => filled(buffer, read), [Symbol.asyncDispose]: async () => void (await pieces.return?.()) };
}
async function filled(buffer: Uint8Array, read: (into: Uint8Array) => Promise<number>): Promise<number> {
  let at = 0;
  for (let more = 1; more > 0 && at < buffer.length; at += more) more = await read(buffer.subarray(at));
  return at;
}

/** Reads the parts of a content in order, each into the buffer that is passed; undefined at the end. */
function inParts(
  reader: Reader,
  bytes: number,
): (buffer: Uint8Array) => Promise<{ number: number; data: Uint8Array } | undefined> {
  let [left, number] = [bytes, 0];
  const take = async (buffer: Uint8Array) => {
    if (left === 0 && number > 0) return undefined;
    const data = buffer.subarray(0, Math.min(buffer.length, left));
    const missing = data.length - (await reader.fill(data));
    left -= data.length;
    number += 1;
    if (missing > 0 || (left === 0 && (await reader.fill(Buffer.alloc(1))) > 0))
      throw refused(
        'rejected',
        `The content is ${missing > 0 ? 'shorter' : 'longer'} than the ${bytes} bytes that it should have`,
      );
    return { number, data };
  };
  let turn: ReturnType<typeof take> = Promise.resolve(undefined);
  return (buffer) => (turn = turn.then(() => take(buffer)));
}

/** Passes the bytes on; throws when there are not exactly `bytes`. */
export async function* exactly({ from, bytes }: Pick<Content, 'from' | 'bytes'>): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const piece of 'path' in from ? (createReadStream(from.path) as AsyncIterable<Uint8Array>) : from) {
    left -= piece.length;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw refused('rejected', `The content does not have the ${bytes} bytes that it should have`);
}

/**
 * Lends memory, at most `most` bytes at once, in FIFO order. Large buffers are reused while there is demand: allocating
 * and collecting them costs more than the work done with them.
 */
export function openBuffers(most: number) {
  let lent = 0;
  let spare: Buffer[] = [];
  const waiting: { bytes: number; go: () => void }[] = [];
  const admit = () => {
    while (waiting[0] && lent + waiting[0].bytes <= most) {
      const { bytes, go } = waiting.shift()!;
      lent += bytes;
      go();
    }
    if (lent === 0) spare = [];
  };
  const taken = (bytes: number): Buffer => {
    const found = spare.findIndex(({ length }) => length === bytes);
    return found < 0 ? Buffer.allocUnsafeSlow(bytes) : spare.splice(found, 1)[0]!;
  };

  return async <T>(bytes: number, work: (buffer: Buffer) => Promise<T>): Promise<T> => {
    const counted = Math.min(bytes, most);
    await new Promise<void>((go) => {
      waiting.push({ bytes: counted, go });
      admit();
    });
    const buffer = taken(bytes);
    try {
      return await work(buffer);
    } finally {
      lent -= counted;
      const kept = spare.reduce((sum, { length }) => sum + length, lent + bytes) <= most && bytes >= MIB;
      if (kept) spare.push(buffer);
      admit();
    }
  };
}
