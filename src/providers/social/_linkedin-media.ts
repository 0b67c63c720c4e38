import { z } from 'zod';
import { TIMEOUT_MS } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { RangedFile } from '../kit/declare/media.ts';
import { type PartsProtocol, uploadParts, uploadWhole } from '../kit/protocols/upload/parts.ts';
import type { Connection, Saving, Media, Post, Prepared } from './_contract.ts';
import { encodedUrn, type Settings } from './_linkedin.ts';
import { carouselOf } from './_linkedin-carousel.ts';

const PART_BYTES = 4 * 1024 * 1024;
const PARTS_A_STEP = 8;
const POLL_MS = 3_000;
const IMAGE = { maxBytes: 5_000_000, maxPixels: 36_152_320, types: ['image/jpeg', 'image/png', 'image/gif'] };
/** No type fits as it is, so that every page is a JPEG in RGB and upright; all pages fit into 100 MB. */
const PAGE = { maxBytes: 4_500_000, maxPixels: 12_000_000, types: [] };

/**
 * `urns`: the files at LinkedIn, in order. `ready`: number of those that it has worked on. `upload`: of a video. `sentAt`:
 * when the post was first sent by an attempt that may have made it.
 */
export const Saved = z
  .object({
    urns: z.array(z.string()).default([]),
    ready: z.int().default(0),
    upload: z.unknown().optional(),
    sentAt: z.iso.datetime().optional(),
  })
  .catch({ urns: [], ready: 0, upload: undefined });

const Begun = (name: 'image' | 'document') =>
  z
    .object({ value: z.looseObject({ uploadUrl: z.url() }) })
    .transform(({ value }) => ({ uploadUrl: value.uploadUrl, urn: z.string().parse(value[name]) }));
/** Parts that are not as long as documented make the answer unreadable: the rest of the file would be wrong. */
const BegunVideo = z
  .object({
    value: z.object({
      video: z.string(),
      uploadToken: z.string().default(''),
      uploadInstructions: z
        .array(z.object({ uploadUrl: z.url(), firstByte: z.int() }))
        .refine((parts) => parts.every(({ firstByte }, n) => firstByte === n * PART_BYTES)),
    }),
  })
  .transform(({ value: { video, uploadToken, uploadInstructions: parts } }) => ({
    urn: video,
    uploadToken,
    urls: parts.map(({ uploadUrl }) => uploadUrl),
  }));
const Video = z.object({ urn: z.string(), uploadToken: z.string(), urls: z.array(z.string()) });
const Etag = z.object({ headers: z.object({ etag: z.string() }) }).transform(({ headers }) => headers.etag);
const State = z.object({ status: z.string() });

type Line = Pick<Connection, 'http' | 'clock'> & { author: string };
export type MediaCall = Connection & Saving & { author: string; post: Post; settings: z.output<typeof Settings> };

/** Pictures become one document where the post asks for it. */
export const isCarousel = (post: Post, settings: z.output<typeof Settings>): boolean =>
  settings.post_as_images_carousel === true &&
  post.media.length > 1 &&
  post.media.every(({ kind }) => kind === 'image');

/** One step: uploads the next file, or a piece of it, or asks whether the next one is ready. */
export async function prepareMedia({ post, settings, saved, save, ...line }: MediaCall): Promise<Prepared> {
  const state = Saved.parse(saved);
  const carousel = isCarousel(post, settings);
  const urn = state.urns[state.ready];
  if (state.urns.length < (carousel ? 1 : post.media.length)) {
    const file = post.media[state.urns.length]!;
    const keep = (upload: unknown) => save({ ...state, upload });
    const made = carousel
      ? await uploadFile(line, await pagesOf(post, settings.carousel_name), 'document')
      : await uploadMedia(line, file, state.upload, keep);
    if (made !== undefined) await save({ urns: [...state.urns, made], ready: state.ready });
    return { againMs: 0 };
  }
  if (urn === undefined) return 'ready';
  const kind = /^urn:li:(image|video|document):/.exec(urn)?.[1] ?? 'image';
  const { status } = await line.http.get(`/rest/${kind}s/${encodedUrn(urn)}`, State);
  if (status === 'PROCESSING_FAILED') throw refused('rejected', `LinkedIn cannot use the ${kind}`);
  if (status !== 'AVAILABLE') return { againMs: POLL_MS };
  await save({ ...state, ready: state.ready + 1 });
  return state.ready + 1 < state.urns.length ? { againMs: 0 } : 'ready';
}

async function pagesOf({ media }: Post, name = 'carousel'): Promise<RangedFile> {
  const pages = [];
  for (const item of media) pages.push(fitted(await item.fit(PAGE), item));
  return carouselOf(pages, name);
}

/** Answers the URN of the file; undefined while parts of it are missing. */
async function uploadMedia(line: Line, file: Media, saved: unknown, save: Saving['save']) {
  if (file.kind === 'video') return uploadVideo(line, file, saved, save);
  if (file.kind === 'document') return uploadFile(line, file, 'document');
  return uploadFile(line, fitted(await file.fit(IMAGE), file), 'image');
}

function fitted<T>(picture: T | undefined, { name }: Media): T {
  if (!picture) throw refused('rejected', `${name} cannot be made to fit the limits of LinkedIn`);
  return picture;
}

async function uploadFile({ author, ...line }: Line, file: RangedFile, kind: 'image' | 'document'): Promise<string> {
  const { uploadUrl, urn } = await line.http.post(`/rest/${kind}s`, Begun(kind), {
    query: { action: 'initializeUpload' },
    json: { initializeUploadRequest: { owner: author } },
  });
  await uploadWhole({ ...line, timeoutMs: TIMEOUT_MS }, { method: 'put', path: uploadUrl }, file, z.unknown());
  return urn;
}

async function uploadVideo({ author: owner, ...line }: Line, file: RangedFile, saved: unknown, save: Saving['save']) {
  const { http } = line;
  const protocol: PartsProtocol<z.output<typeof Video>> = {
    partBytes: PART_BYTES,
    begin: () =>
      http.post('/rest/videos', BegunVideo, {
        query: { action: 'initializeUpload' },
        json: {
          initializeUploadRequest: { owner, fileSizeBytes: file.size, uploadCaptions: false, uploadThumbnail: false },
        },
      }),
    handle: Video,
    send: ({ urls }, { index, body }) => ({
      method: 'put',
      path: urls[index]!,
      bytes: { ...body, contentType: 'application/octet-stream' },
      replyHeaders: ['etag'],
    }),
    mark: Etag,
  };
  const { upload, marks, complete } = await uploadParts({ ...line, timeoutMs: TIMEOUT_MS }, protocol, file, {
    saved,
    save,
    parts: PARTS_A_STEP,
  });
  if (!complete) return undefined;
  await http.post('/rest/videos', z.unknown(), {
    query: { action: 'finalizeUpload' },
    json: {
      finalizeUploadRequest: { video: upload.urn, uploadToken: upload.uploadToken, uploadedPartIds: marks },
    },
  });
  return upload.urn;
}
