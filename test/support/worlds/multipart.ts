import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testDatabase } from '../wire/database.ts';
import type { SignedUp } from './app.ts';
import { WITH_BILLING } from './billing.ts';
import { BACKEND, HASTY, mediaApp } from './media.ts';
import { HEADS } from './samples.ts';

/** The most bytes of a file. */
export const MAX = 3_000_000;
export interface UploadName {
  uploadId: string;
  key: string;
}

export const film = (bytes: number) => Buffer.concat([HEADS['mp4']!, Buffer.alloc(bytes - HEADS['mp4']!.length, 7)]);
export const begin = (
  who: SignedUp,
  size: number,
  more: Record<string, unknown> = {},
  file: Record<string, unknown> = {},
) =>
  who.client.post('/files/create-multipart-upload', {
    file: { name: 'film.mp4', size, type: 'video/mp4', ...file },
    ...more,
  });
export const sign = async (who: SignedUp, { uploadId, key }: UploadName, partNumber: number): Promise<string> =>
  (await who.client.post('/files/sign-part', { uploadId, key, partNumber })).body.url.replace(
    BACKEND,
    who.client.address,
  );
/** As an uploader does it: by the address alone, without a cookie. */
export const put = (url: string, bytes: Uint8Array) =>
  fetch(url, { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer> });
/** Sends all parts, and answers what `complete` takes. */
export async function sendParts(who: SignedUp, name: UploadName, pieces: readonly Uint8Array[]) {
  const parts = [];
  for (const [n, piece] of pieces.entries()) {
    const answer = await put(await sign(who, name, n + 1), piece);
    if (answer.status !== 200) throw new Error(`Part ${n + 1} was answered ${answer.status}`);
    parts.push({ PartNumber: n + 1, ETag: answer.headers.get('etag')! });
  }
  return parts;
}
export const complete = (who: SignedUp, { uploadId, key }: UploadName, parts: unknown) =>
  who.client.post('/files/complete-multipart-upload', { uploadId, key, parts });

/** A product that stores files in a folder, and `paid` beside it over the same folder, with the limits of plans. */
export async function openMultipart() {
  await using opened = new AsyncDisposableStack();
  const db = opened.use(await testDatabase());
  const folder = await mkdtemp(join(tmpdir(), 'rookery-media-'));
  opened.defer(() => rm(folder, { recursive: true }));
  let now = () => new Date();
  const env = { MEDIA_UPLOAD_MAX_BYTES: String(MAX) };
  const parts = { sql: db.sql, folder, clock: { ...HASTY, now: () => now() } };
  const app = opened.use(await mediaApp({ ...parts, env }));
  const paid = opened.use(await mediaApp({ ...parts, env: { ...env, ...WITH_BILLING } }));
  const kept = opened.move();
  return {
    db,
    app,
    paid,
    folder,
    setNow: (time: () => Date) => void (now = time),
    /** What lies in the storage: objects, parts, and what is on its way. */
    lying: async () => ({
      objects: (await readdir(folder, { recursive: true })).filter((name) => /^[0-9a-f-]{36}\/./.test(name)).toSorted(),
      parts: await readdir(join(folder, '.parts')).catch(() => []),
      incoming: await readdir(join(folder, '.incoming')),
    }),
    bytesOf: async (path: string) =>
      Buffer.from(await (await fetch(app.address + new URL(path).pathname)).arrayBuffer()),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
