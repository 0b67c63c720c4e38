import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { Canonical } from './_articles.ts';
import { type Post, social } from './_contract.ts';
import {
  findStory,
  Linked,
  ownComments,
  ownPosts,
  pageCounts,
  postCounts,
  published,
  readComments,
  storyAt,
  uploadPhoto,
} from './_facebook-reading.ts';
import { type Edge, findVideo, finishVideo, pollVideo, prepareVideo, Saved } from './_facebook-video.ts';
import { facebookLogin, GRAPH, graphFailure, Id, managedPages, removeNode, UPLOADS, VIDEOS } from './_meta-graph.ts';
import { commentAtLikes, commentFrom } from './_plugs.ts';

const Node = Id.extend({
  name: z.string(),
  username: z.string().nullish(),
  picture: z
    .object({ data: z.object({ url: z.url() }) })
    .nullish()
    .catch(undefined),
});
const NODE_FIELDS = 'id,name,username,picture.type(large){url}';
const shown = ({ id, name, username, picture }: z.output<typeof Node>) => ({
  id,
  name,
  handle: username ?? '',
  ...(picture && { picture: picture.data.url }),
});
const Settings = z.looseObject({
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
const video = { count: 1, bytes: 10_000_000_000, seconds: [0, 14_400] } as const;

/** https://developers.facebook.com/docs/pages-api/posts, and the guides to videos, reels and stories beside it */
export default social({
  id: 'facebook',
  version: 'v1',
  status: 'active',
  title: 'Facebook Page',
  description: 'Posts, photos, videos, reels and stories on a Facebook Page.',
  website: 'https://www.facebook.com',
  authType: 'oauth2',
  setupNotes:
    'Pages only, no profiles and no groups. Until Meta has reviewed the permissions of the app, only people with a role in it can connect. A page takes 30 reels a day.',
  credentials: {},
  app: clientApp,
  api: GRAPH,
  hosts: { videos: VIDEOS, uploads: UPLOADS },
  auth: [
    { in: 'token' },
    { in: 'header', host: 'videos', name: 'authorization', prefix: 'Bearer ', token: true },
    { in: 'header', host: 'uploads', name: 'authorization', prefix: 'OAuth ', token: true },
  ],
  errorOf: graphFailure,
  login: facebookLogin([
    'pages_show_list',
    'business_management',
    'pages_manage_posts',
    'pages_manage_engagement',
    'pages_read_engagement',
    'read_insights',
  ]),
  once: 'read-back',
  threads: 'comment',
  limits: {
    text: 63_206,
    unit: 'characters',
    media: 10,
    oneKind: true,
    mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'video/*'],
    image: { bytes: 4_000_000 },
    video,
    byType: {
      setting: 'post_type',
      limits: {
        reel: {
          media: 1,
          needsMedia: true,
          mediaTypes: ['video/*'],
          video: { ...video, side: [540, 10_000], ratio: [0.55, 0.57], seconds: [3, 90] },
        },
        story: { media: 1, needsMedia: true, video: { ...video, seconds: [0, 60] } },
      },
    },
  },
  settings: Settings,
  plugs: [commentAtLikes('facebook'), commentFrom('facebook', ['facebook'])],

  async profile({ http, values }) {
    const page = (values as Record<string, string>)['page'];
    return shown(await http.get(`/${page ?? 'me'}`, Node, { query: { fields: page ? NODE_FIELDS : 'id,name' } }));
  },
  pages: async ({ http }) => (await managedPages(http, Node, NODE_FIELDS)).map(shown),
  async choose({ http, page, tokens }) {
    const Page = Id.extend({ access_token: z.string().optional() });
    const { access_token: accessToken } = await http.get(`/${page}`, Page, { query: { fields: 'access_token' } });
    if (accessToken === undefined) throw refused('rejected', 'The login may not post to this page');
    return { accessToken, values: { ...tokens.values, page } }; // a token of a page does not expire
  },

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
    const query = { fields: 'id,permalink_url' };
    return published(await http.post(`/${account}/feed`, Linked, { query, json, creates: true }));
  },
  poll: ({ saved, settings, ...call }) => pollVideo({ ...call, state: Saved.parse(saved), edge: edgeOf(settings) }),
  async find(call) {
    const state = Saved.parse(call.saved);
    if (state.video !== undefined) return findVideo({ ...call, state, edge: edgeOf(call.settings) });
    if (videoOf(call.post)) return undefined;
    return call.settings.post_type === 'story' ? findStory(call, state.photos[0] ?? '') : ownPosts(call);
  },
  remove: ({ http, published: { id } }) => removeNode(http, id),

  comment: {
    once: 'read-back',
    replies: true,
    async send(call) {
      const { http, post, parent } = call;
      const [picture, ...more] = post.media;
      if (more.length > 0 || (picture && picture.kind !== 'image'))
        throw refused('rejected', 'A comment on Facebook holds one picture at most');
      const photo = picture && (await uploadPhoto(call, picture));
      const json = { ...(post.text && { message: post.text }), ...(photo && { attachment_id: photo }) };
      const query = { fields: 'id,permalink_url' };
      const path = `/${parent?.id ?? call.published.id}/comments`;
      return published(await http.post(path, Linked, { query, json, creates: true }));
    },
    find: (call) => ownComments(call),
  },
  comments: (call) => readComments(call),
  async hide({ http, comment: { id }, hidden }) {
    await http.post(`/${id}`, z.unknown(), { json: { is_hidden: hidden } });
  },

  metrics: (call) => postCounts(call),
  channelMetrics: (call) => pageCounts(call),
});

/** Photos, else a link, else the background that people chose for a short text. */
function attached(photos: readonly string[], { url, background }: Typed) {
  if (photos.length > 0) return { attached_media: photos.map((media_fbid) => ({ media_fbid })) };
  if (url) return { link: url };
  return background ? { text_format_preset_id: background } : {};
}
