import { z } from 'zod';
import { singleLine } from '../kit/declare/setting-texts.ts';
import { contentRanges } from '../kit/protocols/upload/session-forms.ts';
import type { Http } from '../kit/wire/http.ts';
import { TagList, Title } from './_articles.ts';
import type { Post, Published } from './_contract.ts';
import { channelOf } from './_peertube-channel.ts';
import type { VideoSession } from './_video-session.ts';

const RANGE_BYTES = 8 * 1024 * 1024;
const Id = z
  .union([z.string().regex(/^\d{1,9}$/), z.int().positive()])
  .transform(Number)
  .optional();

export const Settings = z.looseObject({
  title: Title(120, 3),
  channel: Id,
  privacy: z
    .union([z.string().regex(/^[1-4]$/), z.int().min(1).max(4)], '1 public, 2 unlisted, 3 private, 4 internal')
    .transform(Number)
    .optional(),
  category: Id,
  licence: Id,
  language: z
    .string()
    .regex(/^[a-zA-Z]{2,3}(?:-[a-zA-Z]{2,8}){0,4}$/)
    .optional(),
  nsfw: z.boolean().optional(),
  tags: TagList(singleLine(30, 2), 'a tag has 2 to 30 characters').max(5).optional(),
});
export type Settings = z.output<typeof Settings>;

export const Video = z.object({ uuid: z.string(), shortUUID: z.string() });
export type Video = z.output<typeof Video>;
export const publishedAt = (service: string, { uuid, shortUUID }: Video): Published => ({
  id: uuid,
  url: `${service}/w/${shortUUID}`,
});

const Uploaded = z.object({ video: Video }).transform(({ video }) => video);
/** The address may be whole, or begin with the host: only the id of the session in it is needed. */
const Session = z
  .object({ headers: z.object({ location: z.string().regex(/[?&]upload_id=[^&]+/) }) })
  .transform(
    ({ headers }) => `/videos/upload-resumable?upload_id=${/[?&]upload_id=([^&]+)/.exec(headers.location)![1]}`,
  );

/** The upload of the video of a post, to a session that knows its title and description. */
export function videoUpload({
  http,
  post,
  settings: { title, channel, privacy = 1, tags, ...settings },
  values,
}: {
  http: Http;
  post: Post;
  settings: Settings;
  values: object;
}): VideoSession<Video> {
  const item = post.media[0]!; // `needsMedia`
  const chosen = channelOf(values);
  const { name: filename, size, contentType } = item;
  const { category, licence, language, nsfw } = settings;
  const json = {
    channelId: channel ?? chosen,
    filename,
    name: title,
    privacy,
    waitTranscoding: true,
    ...(post.text !== '' && { description: post.text }),
    ...(category && { category }),
    ...(licence && { licence }),
    ...(language && { language }),
    ...(nsfw !== undefined && { nsfw }),
    ...(tags?.length && { tags }),
  };
  const begin = () =>
    http.post('/videos/upload-resumable', Session, {
      headers: { 'x-upload-content-length': String(size), 'x-upload-content-type': contentType },
      json,
      replyHeaders: ['location'],
    });
  return {
    file: {
      name: filename,
      size,
      contentType: 'application/octet-stream',
      read: (from, to) => item.read(from, to),
    },
    protocol: contentRanges({ begin, rangeBytes: RANGE_BYTES, result: Uploaded }),
    lastFrom: size - RANGE_BYTES,
  };
}
