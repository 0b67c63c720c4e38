import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import { Canonical } from './_articles.ts';
import type { Media, Operations, Post, Published } from './_contract.ts';
import { type Edge, findVideo, finishVideo, pollVideo, prepareVideo, Saved } from './_facebook-video.ts';
import { fitted } from './_files.ts';
import { sinceThen } from './_lists.ts';
import { Id, listOf, removeNode } from './_meta-graph.ts';
import { addressOf } from './_shared.ts';

export const Settings = z.looseObject({
  url: Canonical,
  post_type: z.enum(['post', 'reel', 'story']).optional(),
  background: z
    .string()
    .regex(/^\d{0,20}$/)
    .optional(),
});
type Typed = z.output<typeof Settings>;

const EDGES = { post: 'videos', reel: 'video_reels', story: 'video_stories' } as const;
const edgeOf = ({ post_type: type = 'post' }: Typed): Edge => EDGES[type];
const videoOf = ({ media }: Post) => media.find(({ kind }) => kind === 'video');

interface Call {
  http: Http;
  account: string;
}
export const Linked = Id.extend({ permalink_url: z.url().nullish() });
const LINKED = { fields: 'id,permalink_url' };
export const published = ({ id, permalink_url: url }: z.output<typeof Linked>): Published => ({ id, url: url ?? '' });

export const PHOTO_RULES = { maxBytes: 4_000_000, types: ['image/jpeg', 'image/png', 'image/gif'] };
/** Uploads a photo that nobody sees before it is attached. */
export async function uploadPhoto({ http, account }: Call, file: Media): Promise<string> {
  const source = await fitted(file, PHOTO_RULES);
  const multipart = { published: 'false', alt_text_custom: file.alt || undefined, source };
  return (await http.post(`/${account}/photos`, Id, { multipart })).id;
}

const Attachment = z.object({
  type: z.string().nullish(),
  media_type: z.string().nullish(),
  subattachments: z.object({ data: z.array(z.unknown()) }).nullish(),
});
const OwnPost = Linked.extend({
  message: z.string().default(''),
  created_time: z.coerce.date(),
  attachments: z.object({ data: z.array(Attachment) }).nullish(),
});
/** A link that shows a video has `video_share` or the like as its type, and is no file. */
const isFile = ({ type, media_type: media }: z.output<typeof Attachment>): boolean =>
  (media === 'photo' || media === 'video') && !/(?:^|_)share(?:_|$)/.test(type ?? '');
const filesOf = ({ attachments }: z.output<typeof OwnPost>): number =>
  (attachments?.data ?? []).reduce((sum, one) => sum + (one.subattachments?.data.length ?? (isFile(one) ? 1 : 0)), 0);
const NEWEST = 100;
/** Posts of the page with the same text and as many files. */
async function ownPosts({ http, account, post, since }: Call & { post: Post; since: Date }) {
  const fields =
    'id,permalink_url,message,created_time,attachments{type,media_type,subattachments.limit(30){media_type}}';
  const seconds = String(Math.floor(since.getTime() / 1000));
  const { data } = await http.get(`/${account}/published_posts`, listOf(OwnPost), {
    query: { fields, since: seconds, limit: String(NEWEST) },
  });
  return sinceThen(data, NEWEST, (one) => one.created_time >= since)
    .filter((one) => one.message.trim() === post.text.trim() && filesOf(one) === post.media.length)
    .map(published);
}

const Story = z.object({ post_id: z.coerce.string(), media_id: z.coerce.string().nullish() });
const storyAt = ({ post_id: id }: Pick<z.output<typeof Story>, 'post_id'>): Published => ({
  id,
  url: `https://www.facebook.com/${id}`,
});
/** The story that shows this photo. */
async function findStory({ http, account }: Call, photo: string): Promise<Published | undefined> {
  const { data } = await http.get(`/${account}/stories`, listOf(Story));
  const found = data.find(({ media_id: media }) => media === photo);
  return found && storyAt(found);
}

/** Photos, else a link, else the background that people chose for a short text. */
function attached(photos: readonly string[], { url, background }: Typed) {
  if (photos.length > 0) return { attached_media: photos.map((media_fbid) => ({ media_fbid })) };
  if (url) return { link: url };
  return background ? { text_format_preset_id: background } : {};
}

/** Posts with photos or a video, reels and stories of a page. */
export const facebookPosts = {
  async prepare(call) {
    const { post, settings, save } = call;
    const state = Saved.parse(call.saved);
    const file = videoOf(post);
    if (file) return prepareVideo(call, state, edgeOf(settings), file);
    const photos = [...state.photos];
    for (const photo of post.media.slice(photos.length)) {
      photos.push(await uploadPhoto(call, photo));
      await save({ photos });
    }
    return 'ready';
  },
  async publish(call) {
    const { http, account, post, settings } = call;
    const state = Saved.parse(call.saved);
    if (state.video !== undefined) return finishVideo(call, state, edgeOf(settings), post.text);
    if (settings.post_type === 'story') {
      const Told = z.object({ post_id: z.coerce.string() });
      const json = { photo_id: state.photos[0] };
      return storyAt(await http.post(`/${account}/photo_stories`, Told, { json, creates: true }));
    }
    const json = { ...(post.text && { message: post.text }), ...attached(state.photos, settings) };
    return published(await http.post(`/${account}/feed`, Linked, { query: LINKED, json, creates: true }));
  },
  poll: ({ saved, settings, ...call }) => pollVideo({ ...call, state: Saved.parse(saved), edge: edgeOf(settings) }),
  async find(call) {
    const state = Saved.parse(call.saved);
    if (state.video !== undefined) return findVideo({ ...call, state, edge: edgeOf(call.settings) });
    if (videoOf(call.post)) return undefined;
    return call.settings.post_type === 'story' ? findStory(call, state.photos[0] ?? '') : ownPosts(call);
  },
  remove: ({ http, published: { id } }) => removeNode(http, id),
  /** A page cannot share posts through the API: it posts a link to one. */
  repost: {
    once: 'at-most-once', // how a list shows a link to a post of Facebook is documented nowhere
    unless: [{ post_type: 'story' }], // gone after a day
    async send({ http, account, repost }) {
      const json = { link: addressOf(repost.published) };
      return published(await http.post(`/${account}/feed`, Linked, { query: LINKED, json, creates: true }));
    },
  },
} satisfies Operations<typeof Settings>;
