import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Values } from '../kit/declare/fields.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Connection, type Media, type Post, type Published, social } from './_contract.ts';
import { commentAtLikes, repostAtLikes, repostFrom } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';
import { answered, blogOf, Failure, formOf, ownPosts, postAt, readPost, Settings, written } from './_tumblr-posts.ts';

const IMAGE_BYTES = 20_000_000;
const IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const POLL_MS = 10_000;

const avatar = z
  .array(z.object({ url: z.url() }))
  .nullish()
  .catch(undefined);
const Blog = z.object({
  uuid: z.string(),
  name: z.string(),
  title: z.string().nullish(),
  avatar,
  posts: z.int().nullish(),
});
const Info = answered(z.object({ blog: Blog }));
const User = answered(z.object({ user: z.object({ name: z.string(), blogs: z.array(Blog) }) }));
const Made = answered(z.object({ id: z.string() }));
const count = z.int().nullish();
const Notes = answered(
  z.object({
    notes: z.array(
      z.object({
        type: z.string(),
        blog_name: z.string(),
        blog_uuid: z.string().optional(),
        timestamp: z.int(),
        reply_text: z.string().nullish(),
        added_text: z.string().nullish(),
      }),
    ),
    total_notes: count,
    total_likes: count,
    total_reblogs: count,
    _links: z.object({ next: z.object({ query_params: z.object({ before_timestamp: z.coerce.string() }) }) }).nullish(),
  }),
);
const Saved = z.object({ id: z.string() }).optional().catch(undefined);
const videoOf = ({ media }: Post) => media.find(({ kind }) => kind === 'video');

/** https://www.tumblr.com/docs/en/api/v2, posts in the Neue Post Format */
export default social({
  id: 'tumblr',
  version: 'v1',
  status: 'active',
  title: 'Tumblr',
  description: 'Posts with text, pictures, videos and links on a Tumblr blog.',
  website: 'https://www.tumblr.com',
  authType: 'oauth2',
  setupNotes:
    'Each organization registers an app of its own at tumblr.com/oauth/apps. A blog takes 250 posts, 250 pictures and 20 videos a day, one video at a time.',
  credentials: {},
  app: clientApp,
  api: 'https://api.tumblr.com/v2',
  auth: { in: 'token' },
  errorOf: Failure,
  login: {
    kind: 'oauth2',
    authorize: 'https://www.tumblr.com/oauth2/authorize',
    token: 'https://api.tumblr.com/v2/oauth2/token',
    scopes: ['basic', 'write', 'offline_access'],
  },
  once: 'read-back',
  threads: 'comment',
  processesWithinMs: 2 * 3_600_000,
  pace: [{ per: 'account', posts: 250, ms: 86_400_000 }],
  limits: {
    text: 32_768,
    unit: 'characters',
    media: 30,
    mediaTypes: [...IMAGES, 'video/mp4', 'video/quicktime'],
    image: { bytes: IMAGE_BYTES },
    video: { count: 1, bytes: 500_000_000, seconds: [0, 600] },
  },
  settings: Settings,
  plugs: [repostAtLikes('tumblr'), commentAtLikes('tumblr'), repostFrom('tumblr', ['tumblr'])],

  async profile({ http, values }) {
    const blog = (values as Values)['blog'];
    if (blog === undefined) {
      const { response } = await http.get('/user/info', User);
      return { id: response.user.name, name: response.user.name, handle: `@${response.user.name}` };
    }
    const info = await http.get(`/blog/${blog}/info`, Info);
    const { uuid: id, name, title, avatar: pictures } = info.response.blog;
    const picture = pictures?.[0]?.url;
    return { id, name: title || name, handle: `@${name}`, ...(picture && { picture }) };
  },
  async pages({ http }) {
    const { response } = await http.get('/user/info', User);
    return response.user.blogs.map(({ uuid: id, name, title, avatar: pictures }) => {
      return { id, name: title || name, handle: `@${name}`, picture: pictures?.[0]?.url };
    });
  },
  choose: async ({ page, tokens }) => ({ ...tokens, values: { ...tokens.values, blog: page } }),

  async publish({ http, account, post, settings, save }) {
    const published = await create(http, account, post, written(post, settings));
    if (!videoOf(post)) return published;
    await save({ id: published.id });
    return { processingMs: POLL_MS };
  },
  async poll({ http, account, saved }) {
    const id = Saved.parse(saved)?.id ?? '';
    const found = await readPost(http, account, id);
    if (!found) return { rejected: 'Tumblr has dropped the post with its video' };
    const { state, post_url: url } = found.response;
    return state === 'transcoding' ? { processingMs: POLL_MS } : postAt(account, id, url);
  },
  async find({ http, account, post, settings, saved, since }) {
    const id = Saved.parse(saved)?.id;
    const known = id === undefined ? undefined : await readPost(http, account, id);
    if (id !== undefined) return known && postAt(account, id, known.response.post_url);
    return ownPosts(http, account, { post, since, title: settings.title });
  },
  async remove({ http, account, published: { id } }) {
    await http.post(`/blog/${account}/post/delete`, z.unknown(), { form: { id }, accepts: [404] });
  },

  /** A plain reply cannot be written: a comment is a reblog with a text. */
  comment: {
    once: 'read-back',
    async send({ http, account, post, published }) {
      return create(http, account, post, { ...(await reblogOf(http, published)), ...written(post) });
    },
    find: ({ http, account, post, published, since }) => ownPosts(http, account, { post, since, parent: published.id }),
  },
  repost: {
    once: 'read-back',
    async send({ http, account, repost: { id, published } }) {
      const nothing: Post = { id, text: '', plain: '', media: [] };
      return create(http, account, nothing, { ...(await reblogOf(http, published)), content: [], state: 'published' });
    },
    find: ({ http, account, repost: { id, published }, since }) =>
      ownPosts(http, account, { post: { id, text: '', plain: '', media: [] }, since, parent: published.id }),
  },
  async comments({ http, published, cursor }) {
    const { notes, _links: links } = await notesOf(http, published, cursor);
    return {
      comments: notes.flatMap(({ type, blog_name: name, blog_uuid: id = name, timestamp, ...note }) => {
        const text = type === 'reply' ? note.reply_text : note.added_text;
        const createdAt = new Date(timestamp * 1_000);
        return text ? [{ id: `${name}-${timestamp}`, text, author: { id, name, handle: `@${name}` }, createdAt }] : [];
      }),
      ...(links && { next: links.next.query_params.before_timestamp }),
    };
  },
  async metrics({ http, posts }) {
    const [published] = posts;
    const { total_notes: engagements, total_likes: likes, total_reblogs: reposts } = await notesOf(http, published!);
    return [
      {
        id: published!.id,
        counts: {
          ...(engagements != null && { engagements }),
          ...(likes != null && { likes }),
          ...(reposts != null && { reposts }),
        },
      },
    ];
  },
  async channelMetrics({ http, clock, account }) {
    const info = await http.get(`/blog/${account}/info`, Info);
    const Followers = answered(z.object({ total_users: z.int() }));
    const { response } = await http.get(`/blog/${account}/followers`, Followers, { query: { limit: '1' } });
    return seriesOfNow(clock, { followers: response.total_users, posts: info.response.blog.posts });
  },
});

/** Addresses for people have the name of the blog, which is asked for first: nothing is asked after a post is out. */
async function create(http: Http, blog: string, post: Post, json: object): Promise<Published> {
  const { name } = (await http.get(`/blog/${blog}/info`, Info)).response.blog;
  const sent = { ...post, media: await Promise.all(post.media.map(fitted)) };
  const call = sent.media.length > 0 ? { multipart: formOf(json, sent) } : { json };
  const { response } = await http.post(`/blog/${blog}/posts`, Made, { ...call, creates: true });
  return postAt(blog, response.id, `https://www.tumblr.com/${name}/${response.id}`);
}
async function fitted(file: Media) {
  if (file.kind !== 'image') return file;
  const picture = await file.fit({ maxBytes: IMAGE_BYTES, types: IMAGES });
  if (!picture) throw refused('rejected', `${file.name} cannot be made to fit`);
  return { ...file, ...picture };
}
async function reblogOf(http: Http, published: Published) {
  const blog = blogOf(published);
  const found = await readPost(http, blog, published.id);
  if (!found) throw refused('rejected', 'The post to reblog is gone');
  return { parent_tumblelog_uuid: blog, parent_post_id: published.id, reblog_key: found.response.reblog_key };
}
async function notesOf(http: Connection['http'], published: Published, before?: string) {
  const query = { id: published.id, mode: 'conversation', before_timestamp: before };
  return (await http.get(`/blog/${blogOf(published)}/notes`, Notes, { query })).response;
}
