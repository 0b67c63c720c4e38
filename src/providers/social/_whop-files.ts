import { z } from 'zod';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import { uploadWhole } from '../kit/protocols/upload/parts.ts';
import type { Connection, Handle, Media, Post, Prepared } from './_contract.ts';

const POLL_MS = 3_000;
/** The calls for files exist since this version, and name it; the others have the first one. */
const headers = { 'api-version-date': '2026-08-21-1' };

/** `files`: those of the post at Whop, in order. `ready`: number of those that it has worked on. */
export const Saved = z.object({ files: z.array(z.string()), ready: z.int() }).catch({ files: [], ready: 0 });
const Begun = z.object({
  id: z.string(),
  upload_url: z.url(),
  upload_headers: z.record(z.string(), z.string()).nullish(),
});
const State = z.object({ upload_status: z.enum(['pending', 'processing', 'ready', 'failed']) });

type Line = Pick<Connection, 'http' | 'clock'>;

/** One step: uploads the next file, or asks whether the next one is ready. */
export async function prepareFiles({
  post,
  saved,
  save,
  ...line
}: Line & Pick<Handle, 'saved' | 'save'> & { post: Post }): Promise<Prepared> {
  const { files, ready } = Saved.parse(saved);
  const next = post.media[files.length];
  if (next) {
    await save({ files: [...files, await upload(line, next)], ready });
    return { againMs: 0 };
  }
  const id = files[ready];
  if (id === undefined) return 'ready';
  const { upload_status: status } = await line.http.get(`/files/${encodeURIComponent(id)}`, State, { headers });
  if (status === 'failed') throw refused('rejected', `Whop cannot use ${post.media[ready]!.name}`);
  if (status !== 'ready') return { againMs: POLL_MS };
  await save({ files, ready: ready + 1 });
  return ready + 1 < files.length ? { againMs: 0 } : 'ready';
}

async function upload(line: Line, { name, size, contentType, read }: Media): Promise<string> {
  const begun = await line.http.post('/files', Begun, { headers, json: { filename: name } });
  const named = Object.entries(begun.upload_headers ?? {}).map(([key, value]) => [key.toLowerCase(), value] as const);
  const { 'content-type': type = contentType, ...rest } = Object.fromEntries(named);
  await uploadWhole(
    { ...line, timeoutMs: TIMEOUT_MS },
    { method: 'put', path: begun.upload_url, headers: rest },
    { name, size, contentType: type, read },
    z.unknown(),
  );
  return begun.id;
}
