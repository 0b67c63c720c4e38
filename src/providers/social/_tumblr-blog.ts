import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { ChannelPost, Post, Published } from './_contract.ts';
import { sinceThen } from './_lists.ts';
import { paragraphs } from './_tumblr-format.ts';

// Posts of a blog, as the API answers them.

export const answered = <S extends z.ZodType>(response: S) => z.object({ response });
const avatar = z
  .array(z.object({ url: z.url() }))
  .nullish()
  .catch(undefined);
export const Blog = z.object({
  uuid: z.string(),
  name: z.string(),
  title: z.string().nullish(),
  avatar,
  posts: z.int().nullish(),
});
const Info = answered(z.object({ blog: Blog }));
export const blogNamed = async (http: Http, blog: string) => (await http.get(`/blog/${blog}/info`, Info)).response.blog;
const Block = z.object({ type: z.string(), subtype: z.string().optional(), text: z.string().optional() });
/** A post in the list of a blog, which tells the post that it reblogs by its address alone. */
const ListedPost = z.object({
  id_string: z.string(),
  post_url: z.string(),
  timestamp: z.int().transform((seconds) => new Date(seconds * 1_000)),
  content: z.array(Block).default([]),
  parent_post_url: z.string().nullish(),
});

/** `saved`: the blog of a post, which its readers and reblogs name. */
const Saved = z.object({ blog: z.string() }).optional().catch(undefined);
/** `own`: the blog that acts. A post that a person has named is known by its account alone. */
export const blogOf = ({ saved, account }: ChannelPost, own: string): string =>
  Saved.parse(saved)?.blog ?? account ?? own;
export const postAt = (blog: string, id: string, url: string): Published => ({
  id,
  url,
  saved: { blog },
});

const TumblrPost = z.object({ state: z.string().nullish(), reblog_key: z.string().nullish() });
export const readPost = (http: Http, blog: string, id: string) =>
  http.find(`/blog/${blog}/posts/${id}`, answered(TumblrPost));

/** As many as one call answers. */
const NEWEST = 20;
interface Sought {
  post: Post;
  since: Date;
  title?: string | undefined;
  /** The post that it reblogs. */
  parent?: string | undefined;
}
/** `parent`: the id of a post, or undefined. Addresses hold the id among their segments, and no 64-bit number is read. */
const isReblogOf = (parent: string | undefined, url: string | null | undefined): boolean =>
  parent === undefined ? url == null : (url?.split(/[/?#]/).includes(parent) ?? false);

/** Answers own posts with the same text, number of files and parent. */
export async function ownPosts(http: Http, blog: string, { post, since, title, parent }: Sought): Promise<Published[]> {
  const query = { limit: String(NEWEST), npf: 'true' };
  const { response } = await http.get(`/blog/${blog}/posts`, answered(z.object({ posts: z.array(ListedPost) })), {
    query,
  });
  const sought = [...(title ? [title] : []), ...paragraphs(post.text)].join('\n');
  return sinceThen(response.posts, NEWEST, ({ timestamp }) => timestamp >= since)
    .filter(({ content, parent_post_url: of }) => {
      const text = content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])).join('\n');
      const files = content.filter(({ type }) => type === 'image' || type === 'video');
      return isReblogOf(parent, of) && text === sought && files.length === post.media.length;
    })
    .map(({ id_string: id, post_url: url }) => postAt(blog, id, url));
}
