import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Rookery, Schemas } from '../../typescript/src/index.ts';
import { UsageError } from './exit.ts';

/** Sends a file as it is read, under its own name or another one. */
export async function uploadFile(
  rookery: Rookery,
  file: string,
  signal: AbortSignal,
  { name = basename(file), ...create }: { name?: string | undefined; idempotencyKey?: string } = {},
): Promise<Schemas['PublicFile']> {
  const state = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code})`);
  });
  if (!state.isFile()) throw new UsageError(`${file} is no file`);
  return rookery.upload(createReadStream(file), { name, signal, ...create });
}
