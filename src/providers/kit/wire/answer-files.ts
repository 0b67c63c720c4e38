import { createReadStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProviderError, randomBase62 } from '../../../platform/kernel/index.ts';
import { type LargeFile, UNTYPED } from './large.ts';

/** The most files of one answer. */
const MOST_FILES = 16;

/** A file that is written. */
export interface FileWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** Ends it; nothing can be written any more. */
  end(): Promise<LargeFile>;
}

/** The files of one call. */
export interface AnswerFiles {
  begin(contentType?: string): Promise<FileWriter>;
  /** Deletes all but those that `value` holds, at any depth. */
  keep(value: unknown): Promise<void>;
}

const unreadable = (cause: unknown) => new ProviderError('unavailable', 'A result can no longer be read', { cause });

/** Keeps the files of one call below `folder`, which is made when the first one is. */
export function openAnswerFiles(folder: string): AnswerFiles {
  const files: { discard: () => Promise<void> }[] = [];
  return {
    async begin(contentType = UNTYPED) {
      if (files.length === MOST_FILES) throw new Error(`An answer of more than ${MOST_FILES} files`);
      await mkdir(folder, { recursive: true, mode: 0o750 });
      const path = join(folder, randomBase62(32));
      const handle = await open(path, 'wx', 0o640);
      let size = 0;
      const discard = async () => {
        await handle.close().catch(() => undefined); // of a file that was never ended
        await rm(path, { force: true });
      };
      files.push({ discard });
      return {
        async write(bytes) {
          for (let at = 0; at < bytes.length;) at += (await handle.write(bytes, at)).bytesWritten;
          size += bytes.length;
        },
        async end() {
          await handle.close();
          return {
            contentType,
            size,
            async *open() {
              try {
                for await (const piece of createReadStream(path)) yield piece as Uint8Array;
              } catch (error) {
                throw unreadable(error);
              }
            },
            discard,
          };
        },
      };
    },
    async keep(value) {
      const held = new Set<unknown>();
      collect(value, held);
      await Promise.all(files.filter(({ discard }) => !held.has(discard)).map(({ discard }) => discard()));
    },
  };
}

/** Collects what is named `discard`: a result may spread a file into an object of its own. */
function collect(value: unknown, into: Set<unknown>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'discard') into.add(inner);
    else collect(inner, into);
  }
}
