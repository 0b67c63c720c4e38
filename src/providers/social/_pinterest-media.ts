import { z } from 'zod';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Body } from '../kit/declare/media.ts';
import { uploadWhole } from '../kit/protocols/upload/parts.ts';
import type { Connection, Saving, Media, Post, Prepared } from './_contract.ts';

const POLL_MS = 5_000;
const BY_ADDRESS = { maxBytes: 20_000_000, types: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'] };
/** Pinterest takes bytes inside JSON only, so they are in memory for the call: they are made small before. */
const IN_JSON = { maxBytes: 2_000_000, types: ['image/jpeg', 'image/png'] };

/** The upload of the video of a post. */
const Saved = z.object({ mediaId: z.string().optional() }).catch({});
const Registered = z.object({
  media_id: z.string(),
  upload_url: z.url(),
  upload_parameters: z.record(z.string(), z.string()),
});
const State = z.object({ status: z.enum(['registered', 'processing', 'succeeded', 'failed']) });

export const isVideo = ({ kind }: Media): boolean => kind === 'video';

/** Uploads the video of a post, and asks until it can be used; a post of pictures needs nothing before. */
export async function prepareVideo({
  http,
  clock,
  post,
  saved,
  save,
}: Connection & Saving & { post: Post }): Promise<Prepared> {
  const video = post.media.find(isVideo);
  if (!video) return 'ready';
  const { mediaId } = Saved.parse(saved);
  if (mediaId === undefined) {
    const { media_id, upload_url, upload_parameters } = await http.post('/media', Registered, {
      json: { media_type: 'video' },
    });
    const form = { method: 'post', path: upload_url, fields: upload_parameters, field: 'file' } as const;
    await uploadWhole({ http, clock, timeoutMs: TIMEOUT_MS }, form, video, z.unknown());
    await save({ mediaId: media_id });
    return { againMs: POLL_MS };
  }
  const { status } = await http.get(`/media/${encodeURIComponent(mediaId)}`, State);
  if (status === 'failed') throw refused('rejected', 'Pinterest cannot use the video');
  return status === 'succeeded' ? 'ready' : { againMs: POLL_MS };
}

/** The files of a post as a pin names them. */
export async function mediaSource({ media }: Post, saved: unknown): Promise<object> {
  const pictures = media.filter((file) => !isVideo(file));
  if (pictures.length < media.length) {
    const media_id = Saved.parse(saved).mediaId;
    return { source_type: 'video_id', media_id, ...(await coverOf(media.find(isVideo)!, pictures[0])) };
  }
  const addresses: string[] = [];
  for (const file of pictures) {
    const { publicUrl } = fitted(await file.fit(BY_ADDRESS), file);
    if (publicUrl !== undefined) addresses.push(publicUrl);
  }
  if (addresses.length === pictures.length)
    return addresses.length === 1
      ? { source_type: 'image_url', url: addresses[0] }
      : { source_type: 'multiple_image_urls', items: addresses.map((url) => ({ url })) };
  const items: object[] = [];
  for (const file of pictures) items.push(await inJson(fitted(await file.fit(IN_JSON), file)));
  return items.length === 1
    ? { source_type: 'image_base64', ...items[0] }
    : { source_type: 'multiple_image_base64', items };
}

function fitted<T>(picture: T | undefined, { name }: Pick<Media, 'name'>): T {
  if (!picture) throw refused('rejected', `${name} cannot be made to fit the limits of Pinterest`);
  return picture;
}

/** The cover of a video: the picture beside it, else the one that was chosen for it, else a frame. */
async function coverOf({ thumbnail, coverAtMs = 0 }: Media, picture: Media | undefined): Promise<object> {
  const chosen = picture ?? thumbnail;
  if (!chosen) return { cover_image_key_frame_time: Math.floor(coverAtMs / 1_000) };
  const { content_type, data } = await inJson(fitted(await chosen.fit(IN_JSON), chosen));
  return { cover_image_content_type: content_type, cover_image_data: data };
}

async function inJson(file: Body) {
  const pieces: Uint8Array[] = [];
  for await (const piece of file.open()) pieces.push(piece);
  return { content_type: file.contentType, data: Buffer.concat(pieces).toString('base64') };
}
