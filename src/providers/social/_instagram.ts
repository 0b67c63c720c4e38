import { z } from 'zod';
import { networkId } from '../kit/declare/setting-texts.ts';
import { QUOTA_MS } from '../kit/declare/waits.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Limits, Media, Operations, Post } from './_contract.ts';
import { quotaAt } from './_failures.ts';
import { fitted, fittedCover } from './_files.ts';
import { publicUrlOf } from './_limits.ts';
import { instagramReasons } from './_instagram-reasons.ts';
import {
  checkQuota,
  type Containers,
  findMedia,
  Linked,
  pollMedia,
  prepareContainer,
  published,
  publishContainer,
} from './_meta-containers.ts';
import { altOf, Id, listOf } from './_meta-graph.ts';

// Publishing to Instagram with either login.

const PICTURE = { maxBytes: 8_388_608, types: ['image/jpeg'] };
const OF_REELS = ['is_trial_reel', 'audio'] as const;
export const limits = {
  text: 2_200,
  unit: 'characters',
  media: 10,
  needsMedia: true,
  mediaTypes: ['image/jpeg', 'video/mp4', 'video/quicktime'],
  image: { bytes: PICTURE.maxBytes, ratio: [0.8, 1.91] },
  video: { bytes: 300_000_000, ratio: [0.01, 10], seconds: [3, 900] },
  hashtags: 30,
  mentions: 20,
  fetches: ['image', 'video'],
  idleSettings: { names: OF_REELS, unlessVideo: true },
  byType: {
    setting: 'post_type',
    limits: {
      story: {
        media: 1,
        image: { bytes: PICTURE.maxBytes },
        video: { bytes: 100_000_000, seconds: [3, 60] },
        idleSettings: { names: OF_REELS },
      },
    },
  },
} as const satisfies Limits;

const UserName = z.string().regex(/^@?[\w.]{1,30}$/);
/** A user name as text, or as the form sends it. */
const Name = z
  .union(
    [
      UserName,
      z.object({ label: UserName }).transform(({ label }) => label),
      z.object({ value: UserName }).transform(({ value }) => value),
    ],
    'a user name has letters, digits, dots and underscores, at most 30',
  )
  .transform((name) => name.replace(/^@/, ''));
const volume = z.number().min(0).max(100).optional();
export const Settings = z.looseObject({
  post_type: z.enum(['post', 'story']).optional(),
  is_trial_reel: z.boolean().optional(),
  graduation_strategy: z.enum(['MANUAL', 'SS_PERFORMANCE']).nullish(),
  collaborators: z.array(Name).max(3).optional(),
  audio: z.looseObject({ id: networkId(100), audio_volume: volume, video_volume: volume }).nullish(),
});
type Typed = z.output<typeof Settings>;

interface Call {
  http: Http;
  account: string;
  post: Post;
  settings: Typed;
}

/** Files and settings of a container; those of one that is not a child of another. */
async function containerOf(file: Media, settings: Typed, caption?: string) {
  const single = caption !== undefined;
  const source = await sourceOf(file);
  if (settings.post_type === 'story') return { media_type: 'STORIES', ...source };
  const isVideo = file.kind === 'video';
  const type = isVideo && { media_type: single ? 'REELS' : 'VIDEO' };
  const alt = !isVideo && { alt_text: altOf(file) };
  if (!single) return { ...type, ...source, ...alt, is_carousel_item: true };
  return {
    ...type,
    ...source,
    ...alt,
    ...(isVideo && (await reelOf(file, settings))),
    ...captioned(caption, settings),
  };
}
async function sourceOf(file: Media) {
  if (file.kind === 'video') return { video_url: publicUrlOf(file) };
  return { image_url: publicUrlOf(await fitted(file, PICTURE)) };
}
async function reelOf(file: Media, { is_trial_reel: isTrial, graduation_strategy: strategy, audio }: Typed) {
  const { coverAtMs } = file;
  const cover = await fittedCover(file, PICTURE);
  const ofFrame = coverAtMs !== undefined && { thumb_offset: String(coverAtMs) };
  return {
    ...(cover?.publicUrl === undefined ? ofFrame : { cover_url: cover.publicUrl }),
    ...(isTrial && { trial_params: { graduation_strategy: strategy ?? 'MANUAL' } }),
    ...(audio && {
      audio_configuration: { audio_id: audio.id, audio_volume: audio.audio_volume, video_volume: audio.video_volume },
    }),
  };
}
const captioned = (caption: string, { collaborators }: Typed) => ({
  ...(caption && { caption }),
  ...(collaborators?.length && { collaborators }),
});

const State = z.object({ status_code: z.string(), status: z.string().nullish() });
const containers = (call: Call): Containers => {
  const { http, account, post, settings } = call;
  return {
    title: 'Instagram',
    reasons: instagramReasons,
    check: () => checkQuota(http, { title: 'Instagram', path: `/${account}/content_publishing_limit` }),
    make: async (json) => (await http.post(`/${account}/media`, Id, { json })).id,
    async state(container) {
      const query = { fields: 'status_code,status' };
      const { status_code: code, status: words } = await http.get(`/${container}`, State, { query });
      return { code, words };
    },
    single: (file) => containerOf(file!, settings, post.text), // `needsMedia`
    child: (file) => containerOf(file, settings),
    parent: (children) => ({ media_type: 'CAROUSEL', children, ...captioned(post.text, settings) }),
  };
};
/** A post was published meanwhile. */
export const publishingLimit = quotaAt('error.error_subcode', { 2_207_042: { againMs: QUOTA_MS } });

const Own = Linked.extend({ caption: z.string().default(''), timestamp: z.coerce.date() });

/** Posts, carousels, reels and stories: a container is prepared, then published. */
export const instagramPosts = {
  prepare: (call) => prepareContainer(containers(call), call),
  async publish({ http, account, ...attempt }) {
    await publishContainer(http, `/${account}/media_publish`, attempt);
    return { processingMs: 0 }; // `poll` reads the address of the post
  },
  poll: pollMedia,
  find: (call) =>
    findMedia(call.http, containers(call), call.saved, async () => {
      const { http, account, post, settings, since } = call;
      const isStory = settings.post_type === 'story';
      const { data } = await http.get(`/${account}/${isStory ? 'stories' : 'media'}`, listOf(Own), {
        query: { fields: 'id,caption,permalink,timestamp', limit: '50' },
      });
      return data
        .filter(({ caption, timestamp }) => timestamp >= since && (isStory || caption.trim() === post.text.trim()))
        .map(published);
    }),
} satisfies Operations<typeof Settings>;
