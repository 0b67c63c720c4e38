import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { refused } from '../kit/declare/fallback.ts';
import { isKey, type MultipartStore, type Part, type Upload } from './_contract.ts';
import { isMissing, worded } from './_disk-failures.ts';
import { MIB } from './_parts.ts';

/** The operations of a folder that uploads need. */
export interface Disk {
  folder: string;
  /** Writes a hidden file of exactly so many bytes, and answers its path. */
  write(body: AsyncIterable<Uint8Array>, bytes: number): Promise<string>;
  /** Moves a complete file to the place of the object; deletes it on failure. */
  place(path: string, key: string): Promise<void>;
}

/** Each upload has a folder, which holds its key and its parts. */
const PARTS = '.parts';
const KEY_FILE = 'key';
const ID = /^[0-9a-f]{32}$/;
const NUMBER = /^[1-9]\d{0,4}$/;
const PART_BYTES = 8 * MIB;

/** Opens uploads in parts, each a file. An upload is identified by its id together with its key. */
export function openDiskMultipart(disk: Disk): MultipartStore {
  const parts = join(disk.folder, PARTS);

  /** An upload that was interrupted before its key was written is identified by its id. */
  const keyOf = (id: string) =>
    readFile(join(parts, id, KEY_FILE), 'utf8').catch((error: unknown) =>
      isMissing(error) ? id : Promise.reject(error),
    );
  /** Answers the folder of an upload; undefined for an unknown upload of this key. */
  async function folderOf({ key, id }: Upload): Promise<string | undefined> {
    const folder = join(parts, id);
    const known = ID.test(id) && (await keyOf(id)) === key && (await stat(folder).catch(() => undefined));
    return known ? folder : undefined;
  }
  async function there(upload: Upload): Promise<string> {
    const folder = await folderOf(upload);
    if (!folder) throw refused('rejected', 'There is no such upload');
    return folder;
  }
  /** Reads a part; its etag differs with each writing. */
  async function partOf(folder: string, number: number): Promise<Part | undefined> {
    const found = await stat(join(folder, String(number)), { bigint: true }).catch(() => undefined);
    return (
      found && {
        number,
        bytes: Number(found.size),
        etag: `${found.size.toString(16)}-${found.mtimeNs.toString(16)}-${found.ino.toString(16)}`,
      }
    );
  }

  return {
    partBytes: () => PART_BYTES,
    begin: (key) =>
      worded(async () => {
        if (!isKey(key)) throw refused('rejected', `Not a storage key: ${key}`);
        const id = randomBytes(16).toString('hex');
        await mkdir(join(parts, id), { recursive: true, mode: 0o750 });
        await writeFile(join(parts, id, KEY_FILE), key, { mode: 0o640 });
        return { key, id };
      }),
    put: (upload, number, body, bytes) =>
      worded(async () => {
        if (!NUMBER.test(String(number))) throw refused('rejected', `Not the number of a part: ${number}`);
        const folder = await there(upload);
        const path = await disk.write(body, bytes);
        await rename(path, join(folder, String(number))).catch(async (error: unknown) => {
          await rm(path, { force: true });
          throw isMissing(error) ? refused('rejected', 'There is no such upload') : error; // given up meanwhile
        });
        return (await partOf(folder, number)) ?? Promise.reject(refused('rejected', 'There is no such upload'));
      }),
    parts: (upload) =>
      worded(async () => {
        const folder = await folderOf(upload);
        const names =
          folder &&
          // completed or aborted meanwhile
          (await readdir(folder).catch((error: unknown) => (isMissing(error) ? undefined : Promise.reject(error))));
        if (!names) return undefined;
        const numbers = names.filter((name) => NUMBER.test(name)).map(Number);
        const found = await Promise.all(numbers.toSorted((a, b) => a - b).map((number) => partOf(folder, number)));
        return found.filter((part) => part !== undefined);
      }),
    complete: (upload, wanted) =>
      worded(async () => {
        const folder = await there(upload);
        for (const part of wanted)
          if ((await partOf(folder, part.number))?.etag !== part.etag)
            throw refused('rejected', `Part ${part.number} is not as said`);
        const path = await disk
          .write(
            (async function* () {
              for (const { number } of wanted)
                yield* createReadStream(join(folder, String(number)), {
                  highWaterMark: MIB,
                }) as AsyncIterable<Uint8Array>;
            })(),
            wanted.reduce((sum, { bytes }) => sum + bytes, 0),
          )
          .catch((error: unknown) => {
            throw isMissing(error) ? refused('rejected', 'There is no such upload') : error; // given up meanwhile
          });
        await disk.place(path, upload.key);
        await rm(folder, { recursive: true, force: true, maxRetries: 3 });
      }),
    abort: (upload) =>
      worded(async () => {
        const folder = await folderOf(upload);
        if (folder) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
      }),
    uploads: () =>
      worded(async () => {
        const ids = (
          await readdir(parts).catch((error: unknown) => (isMissing(error) ? [] : Promise.reject(error)))
        ).filter((id) => ID.test(id));
        const uploads = [];
        for (const id of ids) {
          // sequentially: there may be more than the limit of open files
          const key = await keyOf(id).catch(() => undefined);
          if (key === undefined) continue; // one that cannot be read hides none of the others
          const made = await stat(join(parts, id, key === id ? '' : KEY_FILE)).catch(() => undefined);
          if (made) uploads.push({ key, id, begun: made.mtime });
        }
        return uploads;
      }),
  };
}
