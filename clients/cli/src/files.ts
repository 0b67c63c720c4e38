import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Rookery, Schemas } from '../../typescript/src/index.ts';
import { UsageError } from './exit.ts';

/** The key of the upload of a file, so that the same command makes the same file when it is typed again. */
export const keyOfUpload = (key: string, position: number): string =>
  createHash('sha256').update(`${position} ${key}`).digest('hex');

/** Whether a text is an address, and not the name of a file. */
export const isAddress = (text: string): boolean => /^https?:\/\//.test(text);

/** Looks at all files before the first one is sent: none is left in the library for the fault of another. */
export async function requireFiles(files: readonly string[]): Promise<void> {
  for (const file of files) {
    if (isAddress(file)) continue;
    const state = await stat(file).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`${file} cannot be read (${error.code})`);
    });
    if (!state.isFile()) throw new UsageError(`${file} is no file`);
  }
}

/** Sends a file as it is read, under its own name or another one. */
export function uploadFile(
  rookery: Rookery,
  file: string,
  signal: AbortSignal,
  { name = basename(file), ...create }: { name?: string | undefined; idempotencyKey?: string } = {},
): Promise<Schemas['PublicFile']> {
  return rookery.upload(createReadStream(file), { name, signal, ...create });
}
