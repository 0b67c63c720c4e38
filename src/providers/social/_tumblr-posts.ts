import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { ChannelPost, Media, Operations, Post, Published } from './_contract.ts';
import { fitted } from './_files.ts';
import { answered, blogNamed, blogOf, ownPosts, postAt, readPost } from './_tumblr-blog.ts';
import { formOf, IMAGE_BYTES, IMAGE_TYPES, type Settings, written } from './_tumblr-format.ts';

const POLL_MS = 10_000;
const Made = answered(z.object({ id: z.string() }));
const Saved = z.object({ id: z.string(), url: z.string() }).optional().catch(undefined);
const videoOf = ({ media }: Post) => media.find(({ kind }) => kind === 'video');
/** A post of ours that says nothing, as a repost does. */
const silent = (id: string): Post => ({ id, text: '', plain: '', media: [] });

/** Addresses for people have the name of the blog, which is asked for first: nothing is asked after a post is out. */
async function create(http: Http, blog: string, post: Post, json: object): Promise<Published> {
  const { name } = await blogNamed(http, blog);
  const sent = { ...post, media: await Promise.all(post.media.map((file) => fileOf(file))) };
  const call = sent.media.length > 0 ? { multipart: formOf(json, sent) } : { json };
  const { response } = await http.post(`/blog/${blog}/posts`, Made, { ...call, creates: true });
  return postAt(blog, response.id, `https://www.tumblr.com/${name}/${response.id}`);
}
const fileOf = async (file: Media): Promise<Media> =>
  file.kind === 'image' ? { ...file, ...(await fitted(file, { maxBytes: IMAGE_BYTES, types: IMAGE_TYPES })) } : file;
async function reblogOf(http: Http, account: string, published: ChannelPost) {
  const blog = blogOf(published, account);
  const found = await readPost(http, blog, published.id);
  if (!found) throw refused('rejected', 'The post to reblog is gone');
  return { parent_tumblelog_uuid: blog, parent_post_id: published.id, reblog_key: found.response.reblog_key };
}

/** Posts, and reblogs of them with a text or without. */
export const tumblrPosts = {
  async publish({ http, account, post, settings, save }) {
    const published = await create(http, account, post, written(post, settings));
    if (!videoOf(post)) return published;
    await save({ id: published.id, url: published.url });
    return { processingMs: POLL_MS };
  },
  async poll({ http, account, saved }) {
    const { id = '', url = '' } = Saved.parse(saved) ?? {};
    const found = await readPost(http, account, id);
    if (!found) return { rejected: 'Tumblr has dropped the post with its video' };
    return found.response.state === 'transcoding' ? { processingMs: POLL_MS } : postAt(account, id, url);
  },
  /** The list has no posts whose video is still at work, so that one that is missing may be made all the same. */
  async find({ http, account, post, settings, saved, since }) {
    const made = Saved.parse(saved);
    if (made) return (await readPost(http, account, made.id)) && postAt(account, made.id, made.url);
    const found = await ownPosts(http, account, { post, since, title: settings.title });
    if (found.length === 0 && videoOf(post)) throw refused('unavailable', 'Tumblr may still work on the video');
    return found;
  },
  async remove({ http, account, published: { id } }) {
    await http.post(`/blog/${account}/post/delete`, z.unknown(), { form: { id }, accepts: [404] });
  },
  /** A plain reply cannot be written: a comment is a reblog with a text. */
  comment: {
    once: 'read-back',
    limits: { mediaTypes: IMAGE_TYPES }, // a reblog takes no video
    async send({ http, account, post, published }) {
      return create(http, account, post, { ...(await reblogOf(http, account, published)), ...written(post) });
    },
    find: ({ http, account, post, published, since }) => ownPosts(http, account, { post, since, parent: published.id }),
  },
  repost: {
    once: 'read-back',
    async send({ http, account, repost: { id, published } }) {
      return create(http, account, silent(id), {
        ...(await reblogOf(http, account, published)),
        content: [],
        state: 'published',
      });
    },
    find: ({ http, account, repost: { id, published }, since }) =>
      ownPosts(http, account, { post: silent(id), since, parent: published.id }),
  },
} satisfies Operations<typeof Settings>;
