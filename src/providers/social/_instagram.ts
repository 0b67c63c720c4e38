import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Handle, Limits, LookUp, Media, Polled, Post, Prepared, Processing, Published } from './_contract.ts';
import { publicUrlOf } from './_limits.ts';
import { Id, listOf } from './_meta-graph.ts';

// Publishing to Instagram with either login: a container is made, processed, and public by a call of its own.

const PICTURE = { maxBytes: 8_388_608, types: ['image/jpeg'] };
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
  byType: {
    setting: 'post_type',
    limits: {
      story: { media: 1, image: { bytes: PICTURE.maxBytes }, video: { bytes: 100_000_000, seconds: [3, 60] } },
    },
  },
} as const satisfies Limits;

/** A user name as text, or as the form sends it. */
const Name = z
  .union([
    z.string(),
    z.object({ label: z.string() }).transform(({ label }) => label),
    z.object({ value: z.string() }).transform(({ value }) => value),
  ])
  .transform((name) => name.replace(/^@/, ''));
const volume = z.number().min(0).max(100).optional();
export const Settings = z.looseObject({
  post_type: z.enum(['post', 'story']).optional(),
  is_trial_reel: z.boolean().optional(),
  graduation_strategy: z.enum(['MANUAL', 'SS_PERFORMANCE']).nullish(),
  collaborators: z.array(Name).max(3).optional(),
  audio: z.looseObject({ id: z.string().min(1), audio_volume: volume, video_volume: volume }).nullish(),
});
type Typed = z.output<typeof Settings>;

const Saved = z
  .object({ children: z.array(z.string()).default([]), container: z.string().optional(), media: z.string().optional() })
  .catch({ children: [] });

interface Call {
  http: Http;
  account: string;
  post: Post;
  settings: Typed;
}
const POLL_MS = 10_000;

/** Files and settings of a container; those of one that is not a child of another. */
async function containerOf(file: Media, settings: Typed, caption?: string) {
  const single = caption !== undefined;
  const source = await sourceOf(file);
  if (settings.post_type === 'story') return { media_type: 'STORIES', ...source };
  const isVideo = file.kind === 'video';
  const type = isVideo && { media_type: single ? 'REELS' : 'VIDEO' };
  const alt = !isVideo && file.alt && { alt_text: file.alt };
  if (!single) return { ...type, ...source, ...alt, is_carousel_item: true };
  return { ...type, ...source, ...alt, ...(isVideo && reelOf(settings)), ...captioned(caption, settings) };
}
async function sourceOf(file: Media) {
  if (file.kind === 'video') return { video_url: publicUrlOf(file) };
  const picture = await file.fit(PICTURE);
  if (!picture) throw refused('rejected', `${file.name} is not a picture that Instagram takes`);
  return { image_url: publicUrlOf(picture) };
}
const reelOf = ({ is_trial_reel: isTrial, graduation_strategy: strategy, audio }: Typed) => ({
  ...(isTrial && { trial_params: { graduation_strategy: strategy ?? 'MANUAL' } }),
  ...(audio && {
    audio_configuration: { audio_id: audio.id, audio_volume: audio.audio_volume, video_volume: audio.video_volume },
  }),
});
const captioned = (caption: string, { collaborators }: Typed) => ({
  ...(caption && { caption }),
  ...(collaborators?.length && { collaborators }),
});

/** One step towards a container that can be published. */
export async function prepare({ saved, save, ...call }: Call & Handle): Promise<Prepared> {
  const { post, settings } = call;
  const state = Saved.parse(saved);
  if (state.media !== undefined) return 'ready';
  let { container } = state;
  if (container === undefined) {
    const children = [...state.children];
    if (children.length === 0) await checkQuota(call);
    const [first, ...more] = post.media;
    if (more.length > 0) {
      const waits = await prepareChildren(call, children, save);
      if (waits) return waits;
    }
    const media =
      more.length > 0
        ? { media_type: 'CAROUSEL', children, ...captioned(post.text, settings) }
        : await containerOf(first!, settings, post.text); // `needsMedia`
    container = await make(call, media);
    await save({ children, container });
  }
  return (await waitFor(call.http, container, save)) ?? 'ready';
}
const make = async ({ http, account }: Call, json: object) => (await http.post(`/${account}/media`, Id, { json })).id;

/** Makes the children that are missing, and waits for videos among them. */
async function prepareChildren(call: Call, children: string[], save: Handle['save']): Promise<Prepared | undefined> {
  const { post, settings, http } = call;
  for (const file of post.media.slice(children.length)) {
    children.push(await make(call, await containerOf(file, settings)));
    await save({ children });
  }
  for (const [n, file] of post.media.entries()) {
    const waits = file.kind === 'video' && (await waitFor(http, children[n]!, save));
    if (waits) return waits;
  }
  return undefined;
}

const State = z.object({ status_code: z.string(), status: z.string().nullish() });
const stateOf = (http: Http, container: string) =>
  http.get(`/${container}`, State, { query: { fields: 'status_code,status' } });
/** Undefined: the container can be published. One that failed or expired is forgotten, so that a retry begins anew. */
async function waitFor(http: Http, container: string, save: Handle['save']): Promise<Prepared | undefined> {
  const { status_code: code, status } = await stateOf(http, container);
  if (code === 'IN_PROGRESS') return { againMs: POLL_MS };
  if (code !== 'ERROR' && code !== 'EXPIRED') return undefined;
  await save({});
  if (code === 'EXPIRED') return { againMs: 0 };
  throw refused('rejected', `Instagram could not process the files: ${status ?? 'without a reason'}`);
}

const Quota = z.object({
  data: z.array(z.object({ quota_usage: z.number(), config: z.object({ quota_total: z.number() }).nullish() })),
});
/** The number of posts a day differs by account. */
async function checkQuota({ http, account }: Call): Promise<void> {
  const query = { fields: 'quota_usage,config' };
  const { data } = await http.get(`/${account}/content_publishing_limit`, Quota, { query });
  const [{ quota_usage: used, config } = { quota_usage: 0, config: undefined }] = data;
  if (config && used >= config.quota_total)
    throw refused('rate_limited', `Instagram takes ${config.quota_total} posts of this account in 24 hours`);
}

/** Publishes the container; its address is read by `poll`, whose failure says nothing about the post. */
export async function publish({ http, account, saved, save }: Call & Handle): Promise<Processing> {
  const { container, media } = Saved.parse(saved);
  if (media === undefined) {
    const json = { creation_id: container };
    const { id } = await http.post(`/${account}/media_publish`, Id, { json, creates: true });
    await save({ container, media: id });
  }
  return { processingMs: 0 };
}
const Linked = Id.extend({ permalink: z.url().nullish() });
const published = ({ id, permalink }: z.output<typeof Linked>): Published => ({ id, url: permalink ?? '' });
const readMedia = async (http: Http, id: string) =>
  published(await http.get(`/${id}`, Linked, { query: { fields: 'id,permalink' } }));
export const poll = ({ http, saved }: Pick<Call, 'http'> & { saved: unknown }): Promise<Polled> =>
  readMedia(http, Saved.parse(saved).media!);

const Own = Linked.extend({ caption: z.string().default(''), timestamp: z.coerce.date() });
/** A container is published once: what it became is among the newest media. */
export async function find({ http, account, post, settings, saved, since }: Call & LookUp) {
  const { container, media } = Saved.parse(saved);
  if (media !== undefined) return readMedia(http, media);
  if (container === undefined || (await stateOf(http, container)).status_code !== 'PUBLISHED') return undefined;
  const isStory = settings.post_type === 'story';
  const { data } = await http.get(`/${account}/${isStory ? 'stories' : 'media'}`, listOf(Own), {
    query: { fields: 'id,caption,permalink,timestamp', limit: '50' },
  });
  const found = data.filter(
    ({ caption, timestamp }) => timestamp >= since && (isStory || caption.trim() === post.text.trim()),
  );
  if (found.length === 0) throw refused('unavailable', 'Instagram has published the post, and does not show it yet');
  return found.map(published);
}
