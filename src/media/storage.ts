import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { formatOfKey } from './rules.ts';

/** Where the bytes of files are kept. */
export interface Storage {
  readonly id: string;
  readonly version: string;
  /** Takes over a finished file of this machine. */
  keep(key: string, path: string): Promise<void>;
  /** A stored object; undefined: there is none of that key. */
  open(key: string): Promise<Stored | undefined>;
  remove(key: string): Promise<void>;
}

export interface Stored extends AsyncDisposable {
  size: number;
  modified: Date;
  /** The bytes from `start` to `end`, both included. Reading to the end closes the object. */
  read(range?: { start: number; end: number }): Readable;
}

const MISSING = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'];
const isMissing = (error: unknown) => typeof error === 'object' && error !== null && 'code' in error && MISSING.includes(String(error.code));

function stored(handle: FileHandle, { size, mtime }: Stats): Stored {
  return {
    size,
    modified: mtime,
    read: (range) => handle.createReadStream({ ...range, autoClose: true }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/** Files below one folder of this machine. */
export function localStorage(folder: string): Storage {
  /** Undefined unless the key is one of ours: then its path cannot leave the folder by its spelling. */
  const pathOf = (key: string) => (formatOfKey(key) ? join(folder, key) : undefined);

  return {
    id: 'local',
    version: 'v1',

    async keep(key, path) {
      const target = pathOf(key);
      if (!target) throw new Error(`Not a storage key: ${key}`);
      await mkdir(dirname(target), { recursive: true, mode: 0o750 });
      await rename(path, target);
    },

    async open(key) {
      const path = pathOf(key);
      if (!path) return undefined;
      try {
        // A link that somebody planted must not lead out, whether it stands for the file or for its folder.
        if (!(await realpath(dirname(path))).startsWith((await realpath(folder)) + sep)) return undefined;
        const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
        const stats = await handle.stat();
        if (stats.isFile()) return stored(handle, stats);
        await handle.close();
        return undefined;
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },

    async remove(key) {
      const path = pathOf(key);
      if (path && (await lstat(path).catch(() => undefined))?.isFile()) await rm(path, { force: true });
    },
  };
}
