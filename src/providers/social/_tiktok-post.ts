import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { singleLine } from '../kit/declare/setting-texts.ts';
import { contentRangeChunks } from '../kit/protocols/upload/session-forms.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Limits, Media, Post } from './_contract.ts';
import { fitted } from './_files.ts';
import { checkFiles, publicUrlOf } from './_limits.ts';
import { Status, statusCall } from './_tiktok-status.ts';
import type { VideoSession } from './_video-session.ts';

const IMAGE_BYTES = 20_000_000;
const STILLS = ['image/jpeg', 'image/webp'];
export const LIMITS: Limits = {
  text: 2_200,
  unit: 'utf16',
  media: 35,
  needsMedia: true,
  oneKind: true,
  mediaTypes: [...STILLS, 'video/mp4', 'video/quicktime', 'video/webm'],
  image: { bytes: IMAGE_BYTES },
  video: { count: 1, bytes: 4_000_000_000, side: [360, 4_096], seconds: [0, 600] },
  fetches: ['image'],
};
const FULL_HD = 1_920 * 1_080;
/** A range has at least 5 MB, the last one at most 128 MB; there are at most 1,000. */
const RANGE_BYTES = 8 * 1024 * 1024;

const InAppOnly = z.literal('', 'can be chosen in the app of TikTok only').optional();
export const Settings = z
  .looseObject({
    title: singleLine(90).optional(),
    content_posting_method: z.enum(['DIRECT_POST', 'UPLOAD']).default('DIRECT_POST'),
    privacy_level: z
      .enum(['PUBLIC_TO_EVERYONE', 'MUTUAL_FOLLOW_FRIENDS', 'FOLLOWER_OF_CREATOR', 'SELF_ONLY'])
      .optional(),
    comment: z.boolean().default(false),
    duet: z.boolean().default(false),
    stitch: z.boolean().default(false),
    autoAddMusic: z.enum(['yes', 'no']).default('no'),
    brand_content_toggle: z.boolean().default(false),
    brand_organic_toggle: z.boolean().default(false),
    video_made_with_ai: z.boolean().default(false),
    music: InAppOnly,
    location: InAppOnly,
  })
  .check(({ value, issues }) => {
    const fault = (key: string, message: string) => issues.push({ code: 'custom', path: [key], message, input: value });
    const { content_posting_method: method, privacy_level: level, brand_content_toggle: isBranded } = value;
    if (method === 'DIRECT_POST' && level === undefined) fault('privacy_level', 'is needed for a direct post'); // no default: TikTok's rules
    if (isBranded && level === 'SELF_ONLY') fault('brand_content_toggle', 'cannot be set for a post that only you see');
  });
export type Settings = z.output<typeof Settings>;
const isDirect = ({ content_posting_method }: Settings): boolean => content_posting_method === 'DIRECT_POST';
/** Everybody sees the post, and lists have it. */
export const isPublic = (settings: Settings): boolean =>
  isDirect(settings) && settings.privacy_level === 'PUBLIC_TO_EVERYONE';

const Creator = z.object({
  data: z.object({
    privacy_level_options: z.array(z.string()),
    max_video_post_duration_sec: z.number().positive(),
  }),
});
/** What this account can post, which TikTok wants to be asked before each post. */
export const creatorOf = async (http: Http) => {
  const { data } = await http.post('/post/publish/creator_info/query/', Creator);
  const video = { ...LIMITS.video, seconds: [0, data.max_video_post_duration_sec] as const };
  return { levels: data.privacy_level_options, limits: { ...LIMITS, video } };
};
/** Refuses what this account cannot post. */
export async function checkAccount(http: Http, { media }: Post, settings: Settings): Promise<void> {
  const { levels, limits } = isDirect(settings) ? await creatorOf(http) : { levels: undefined, limits: LIMITS };
  const level = settings.privacy_level ?? '';
  if (levels && !levels.includes(level))
    throw refused('rejected', `TikTok offers this account ${levels.join(', ')}, and not ${level}`);
  const [issue] = checkFiles(limits, media);
  if (issue) throw refused('rejected', issue.message);
}

const audience = ({ privacy_level, comment, brand_content_toggle, brand_organic_toggle }: Settings) => ({
  privacy_level,
  disable_comment: !comment,
  brand_content_toggle,
  brand_organic_toggle,
});
/** The body that starts a post of pictures, which TikTok fetches. */
export async function photosOf({ text, media }: Post, settings: Settings) {
  const urls: string[] = [];
  for (const item of media) {
    urls.push(publicUrlOf(await fitted(item, { maxBytes: IMAGE_BYTES, maxPixels: FULL_HD, types: STILLS })));
  }
  return {
    media_type: 'PHOTO',
    post_mode: isDirect(settings) ? 'DIRECT_POST' : 'MEDIA_UPLOAD',
    post_info: {
      ...(settings.title && { title: settings.title }),
      description: text,
      ...(isDirect(settings) && { ...audience(settings), auto_add_music: settings.autoAddMusic === 'yes' }),
    },
    source_info: { source: 'PULL_FROM_URL', photo_images: urls, photo_cover_index: 0 },
  };
}

const Begun = z.object({ data: z.object({ publish_id: z.string(), upload_url: z.url({ protocol: /^https$/ }) }) });
const rangeOf = ({ size }: Pick<Media, 'size'>): number => Math.min(size, RANGE_BYTES);
/** Where the last range begins, whose arrival posts the video. */
const lastRange = (file: Pick<Media, 'size'>): number => (Math.floor(file.size / rangeOf(file)) - 1) * rangeOf(file);

/** The upload of a video. `publish` holds the id of the post, by which TikTok is asked how far it is. */
export function videoUpload(
  { http, post, settings }: { http: Http; post: Post; settings: Settings },
  publish: { id?: string | undefined },
): VideoSession<never> {
  const file = post.media[0]!; // `needsMedia`
  const chunk = rangeOf(file);
  const source_info = {
    source: 'FILE_UPLOAD',
    video_size: file.size,
    chunk_size: chunk,
    total_chunk_count: Math.floor(file.size / chunk),
  };
  const post_info = {
    title: post.text,
    ...audience(settings),
    disable_duet: !settings.duet,
    disable_stitch: !settings.stitch,
    is_aigc: settings.video_made_with_ai,
    ...(file.coverAtMs !== undefined && { video_cover_timestamp_ms: file.coverAtMs }),
  };
  const protocol = contentRangeChunks({
    async begin() {
      const { data } = isDirect(settings)
        ? await http.post('/post/publish/video/init/', Begun, { json: { post_info, source_info } })
        : await http.post('/post/publish/inbox/video/init/', Begun, { json: { source_info } });
      publish.id = data.publish_id;
      return data.upload_url;
    },
    rangeBytes: chunk,
    longLast: true,
    ask: () => ({ method: 'post', ...statusCall(publish.id ?? ''), gone: [400, 404, 410] }),
    offset: Status.transform(({ data: { status, uploaded_bytes: received } }) =>
      status === 'PROCESSING_UPLOAD' ? (received ?? 0) : file.size,
    ),
  });
  // 403: the address of the upload, which is good for an hour, has expired
  return {
    file,
    protocol: { ...protocol, send: (at, range) => ({ ...protocol.send(at, range), gone: [403, 404, 410] }) },
    lastFrom: lastRange(file),
  };
}
