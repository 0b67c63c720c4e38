import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { copyFile, type FileHandle, lstat, mkdir, open, realpath, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { refused } from '../kit/declare/fallback.ts';
import { type Content, isKey, type Store, type Stored } from './_contract.ts';
import { codeOf, isMissing, worded } from './_disk-failures.ts';
import { type Disk, openDiskMultipart } from './_disk-multipart.ts';

/** Folder of incomplete files, which no key can reach. */
const INCOMING = '.incoming';

/** Opens a store of files below a folder. */
export function openDisk(folder: string): Store {
  /** Answers the path of a key, unless a symbolic link leads out of the folder. */
  async function placeOf(key: string): Promise<string | undefined> {
    if (!isKey(key)) return undefined;
    const path = join(folder, key);
    return `${await realpath(dirname(path))}${sep}`.startsWith((await realpath(folder)) + sep) ? path : undefined;
  }
  const disk: Disk = {
    folder,
    async write(body, bytes) {
      await mkdir(join(folder, INCOMING), { recursive: true, mode: 0o750 });
      const path = join(folder, INCOMING, `put-${randomBytes(16).toString('hex')}`);
      const handle = await open(path, 'wx', 0o640);
      try {
        let written = 0;
        for await (const piece of body) {
          written += piece.length;
          if (written > bytes) break;
          await writeWhole(handle, piece);
        }
        if (written !== bytes)
          throw refused('rejected', `The content does not have the ${bytes} bytes that it should have`);
        await handle.datasync();
        return path;
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      } finally {
        await handle.close();
      }
    },
    async place(path, key) {
      try {
        const made = await mkdir(dirname(join(folder, key)), { recursive: true, mode: 0o750 });
        const target = await placeOf(key);
        if (!target) throw refused('rejected', `Not a place to keep files: ${key}`);
        await rename(path, target);
        for (const at of made === undefined ? [dirname(target)] : [dirname(target), folder]) await syncFolder(at);
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
    },
  };

  /** Moves a complete file, or copies it from another disk. */
  async function take({ from, bytes }: Content): Promise<string> {
    if (!('path' in from)) return disk.write(from, bytes);
    if ((await stat(from.path)).size !== bytes)
      throw refused('rejected', `The content does not have the ${bytes} bytes that it should have`);
    await mkdir(join(folder, INCOMING), { recursive: true, mode: 0o750 });
    const path = join(folder, INCOMING, `put-${randomBytes(16).toString('hex')}`);
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

  const put = (key: string, content: Content) =>
    worded(async () => {
      if (!isKey(key)) throw refused('rejected', `Not a storage key: ${key}`);
      await disk.place(await take(content), key);
    });

  const found = (key: string): Promise<Stored | undefined> =>
    worded(async () => {
      try {
        const path = await placeOf(key);
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
    });

  const remove = (keys: readonly string[]) =>
    worded(async () => {
      for (const key of keys) {
        const path = await placeOf(key).catch((error: unknown) => {
          if (isMissing(error)) return undefined;
          throw error;
        });
        if (path && (await lstat(path).catch(() => undefined))?.isFile()) await rm(path, { force: true });
      }
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

function stored(handle: FileHandle, { size, mtime }: Stats): Stored {
  return {
    size,
    modified: mtime,
    read: (range) => handle.createReadStream({ ...range, autoClose: true }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Syncs a folder, so that its names survive a power failure: a row that is written after this has its bytes. */
async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, constants.O_RDONLY);
  await handle.sync();
}

async function writeWhole(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let at = 0; at < piece.length;) at += (await handle.write(piece, at)).bytesWritten;
}
