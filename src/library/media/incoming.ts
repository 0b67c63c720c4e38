import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError, randomBase62, StartError } from '../../platform/kernel/index.ts';

/**
 * Bytes that came in and lie in a file of their own, not looked at yet. Who receives it moves it away or disposes it.
 */
export interface ReceivedFile extends AsyncDisposable {
  path: string;
  size: number;
}
export interface IncomingLog {
  error(detail: object, message: string): void;
}

/** The folder of this machine where bytes lie until they have been judged, or sent. */
export interface Incoming {
  readonly folder: string;
  /**
   * Writes a stream to a new file; more than `maxBytes` is `too_large` at once, and nothing is left behind by a
   * failure. `taking` hears of each piece before it is written, and may throw.
   */
  receive(source: AsyncIterable<Uint8Array>, maxBytes: number, taking?: (bytes: number) => void): Promise<ReceivedFile>;
  /** Whether so little is free on its disk that only what people upload may still come. */
  isNearlyFull(): Promise<boolean>;
  /** The same, or what it means for callers when it is a failure of the disk: then the log has it. */
  worded(error: unknown): unknown;
}

const FULL = ['ENOSPC', 'EDQUOT'];
const BROKEN = ['EROFS', 'EACCES', 'EPERM', 'EIO', 'EMFILE', 'ENFILE', 'ENOENT', 'ENOTDIR'];
const FLOOR_BYTES = 1024 ** 3;
const FLOOR_SHARE = 0.05;

const codeOf = (error: unknown): string => String((Object(error) as { code?: unknown }).code);
export const tooLarge = (maxBytes: number) => new AppError('too_large', `The file is larger than ${maxBytes} bytes`);

/** Makes the folder below that of the uploads. Throws `StartError` where it cannot be written. */
export async function openIncoming(uploads: string, log: IncomingLog): Promise<Incoming> {
  const folder = join(uploads, '.incoming');
  try {
    await mkdir(folder, { recursive: true, mode: 0o750 });
    await access(folder, constants.W_OK);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartError(
      `Uploads cannot be kept in ${uploads} (${reason}). Let UPLOAD_FOLDER name a folder that this user can write.`,
      { cause },
    );
  }

  function worded(error: unknown): unknown {
    const code = [error, Object(error).cause].map(codeOf).find((one) => FULL.includes(one) || BROKEN.includes(one));
    if (code === undefined || (error instanceof AppError && error.code !== 'provider_failed')) return error;
    log.error({ err: error, code, folder: uploads }, 'the disk of the uploads failed, nothing was kept');
    const message = FULL.includes(code)
      ? 'The disk for uploads is full: nothing was kept'
      : 'Uploads cannot be kept at the moment: nothing was kept';
    return new AppError('unavailable', message, {}, { cause: error });
  }

  return {
    folder,
    worded,
    async receive(source, maxBytes, taking) {
      const path = join(folder, randomBase62(32));
      let size = 0;
      const meter = new Transform({
        transform(chunk: Uint8Array, _, done) {
          size += chunk.byteLength;
          if (size > maxBytes) return done(tooLarge(maxBytes));
          try {
            taking?.(chunk.byteLength);
            done(null, chunk);
          } catch (error) {
            done(error as Error);
          }
        },
      });
      try {
        await pipeline(
          Readable.from(source, { objectMode: false }),
          meter,
          createWriteStream(path, { flags: 'wx', mode: 0o640 }),
        );
      } catch (error) {
        await rm(path, { force: true }).catch(() => undefined); // else the sweep does it
        throw worded(error);
      }
      return { path, size, [Symbol.asyncDispose]: () => rm(path, { force: true }) };
    },
    async isNearlyFull() {
      const { bavail, blocks, bsize } = await statfs(folder);
      return bavail * bsize < Math.min(FLOOR_BYTES, blocks * bsize * FLOOR_SHARE);
    },
  };
}
