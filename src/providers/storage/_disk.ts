import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { copyFile, type FileHandle, lstat, mkdir, open, realpath, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { refused } from '../kit/declare/fallback.ts';
import type { LentMemory } from '../kit/declare/media.ts';
import { type Content, isKey, type Store, type Stored } from './_contract.ts';
import { codeOf, isMissing, worded } from './_disk-failures.ts';
import { type Disk, openDiskMultipart } from './_disk-multipart.ts';

/** Folder of incomplete files, which no key can reach. */
const INCOMING = '.incoming';
/** A file is read in pieces of this size: smaller ones cost more processor time for each byte. */
const PIECE_BYTES = 256 * 1024;
const LENT_PIECES = 4;

/** Opens a store of files below a folder. */
export function openDisk(folder: string): Store {
  const disk: Disk = {
    folder,
    write: (body, bytes) => writeHidden(folder, body, bytes),
    place: (path, key) => placeFile(folder, path, key),
  };
  const put = (key: string, content: Content) =>
    worded(async () => {
      if (!isKey(key)) throw refused('rejected', `Not a storage key: ${key}`);
      await placeFile(folder, await takeContent(folder, content), key);
    });
  const found = (key: string) => worded(() => openFile(folder, key));
  const remove = (keys: readonly string[]) =>
    worded(async () => {
      for (const key of keys) await removeFile(folder, key);
    });

  return {
    put,
    open: found,
    remove,
    url: () => undefined, // served by this service
    multipart: openDiskMultipart(disk),
    check: () =>
      worded(async () => {
        const key = `check-${randomBytes(16).toString('hex')}`;
        const from = (async function* () {
          yield Buffer.from('check');
        })();
        await put(key, { from, bytes: 5, mime: 'text/plain' });
        await using back = await found(key);
        await remove([key]);
        if (back?.size !== 5) throw refused('rejected', 'A file that was written is not found again');
        const { bavail, bsize } = await statfs(folder);
        return `A file was written, read and removed; ${Math.floor((bavail * bsize) / 1e9)} GB are free`;
      }),
  };
}

/** Answers the path of a key, unless a symbolic link leads out of the folder. */
async function pathOf(folder: string, key: string): Promise<string | undefined> {
  if (!isKey(key)) return undefined;
  const path = join(folder, key);
  return `${await realpath(dirname(path))}${sep}`.startsWith((await realpath(folder)) + sep) ? path : undefined;
}

/** Makes the folder of incomplete files, and answers a new path in it. */
async function hiddenPath(folder: string): Promise<string> {
  await mkdir(join(folder, INCOMING), { recursive: true, mode: 0o750 });
  return join(folder, INCOMING, `put-${randomBytes(16).toString('hex')}`);
}

const wrongSize = (bytes: number) =>
  refused('rejected', `The content does not have the ${bytes} bytes that it should have`);

/** Writes a hidden file of exactly so many bytes, and answers its path. */
async function writeHidden(folder: string, body: AsyncIterable<Uint8Array>, bytes: number): Promise<string> {
  const path = await hiddenPath(folder);
  const handle = await open(path, 'wx', 0o640);
  try {
    let written = 0;
    for await (const piece of body) {
      written += piece.length;
      if (written > bytes) break;
      await writeWhole(handle, piece);
    }
    if (written !== bytes) throw wrongSize(bytes);
    await handle.datasync();
    return path;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** Makes a hidden file of the content: a complete file is moved, or copied from another disk. */
async function takeContent(folder: string, { from, bytes }: Content): Promise<string> {
  if (!('path' in from)) return writeHidden(folder, from, bytes);
  if ((await stat(from.path)).size !== bytes) throw wrongSize(bytes);
  const path = await hiddenPath(folder);
  try {
    await rename(from.path, path).catch(async (error: unknown) => {
      if (codeOf(error) !== 'EXDEV') throw error;
      await copyFile(from.path, path);
    });
    await using handle = await open(path, 'r+');
    await handle.datasync();
    return path;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Moves a complete file to the place of the object; deletes it on failure. */
async function placeFile(folder: string, path: string, key: string): Promise<void> {
  try {
    const made = await mkdir(dirname(join(folder, key)), { recursive: true, mode: 0o750 });
    const target = await pathOf(folder, key);
    if (!target) throw refused('rejected', `Not a place to keep files: ${key}`);
    await rename(path, target);
    for (const at of made === undefined ? [dirname(target)] : [dirname(target), folder]) await syncFolder(at);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function openFile(folder: string, key: string): Promise<Stored | undefined> {
  try {
    const path = await pathOf(folder, key);
    if (!path) return undefined;
    // opening a pipe would block
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (stats.isFile()) return stored(handle, stats);
    await handle.close();
    return undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function removeFile(folder: string, key: string): Promise<void> {
  const path = await pathOf(folder, key).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (path && (await lstat(path).catch(() => undefined))?.isFile()) await rm(path, { force: true });
}

function stored(handle: FileHandle, { size, mtime }: Stats): Stored {
  return {
    size,
    modified: mtime,
    read: (range) => handle.createReadStream({ ...range, autoClose: true, highWaterMark: PIECE_BYTES }),
    lend: (memory, range) => lend(handle, memory, { start: 0, end: size - 1, ...range }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Pieces in buffers that go round: the one that is read now, and three that were lent before. */
async function* lend(
  handle: FileHandle,
  memory: LentMemory,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Uint8Array> {
  const buffers = memory.splice(0);
  try {
    for (let at = start, n = 0; at <= end; n++) {
      const buffer = (buffers[n % LENT_PIECES] ??= Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, end + 1 - at)));
      const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, end + 1 - at), at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    memory.push(...buffers);
    await handle.close();
  }
}

/** Syncs a folder, so that its names survive a power failure: a row that is written after this has its bytes. */
async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, constants.O_RDONLY);
  await handle.sync();
}

async function writeWhole(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length;) at += (await handle.write(piece, at)).bytesWritten;
}
