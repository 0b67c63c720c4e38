import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { CommentPage, CommentRead, PostCounts, Published } from './_contract.ts';

const PAGE = '50';
const PAGES = 10;

/** A time in seconds, or written out: the description and its examples differ. */
const Time = z
  .union([z.string(), z.number()])
  .transform((at) => new Date(/^\d+(?:\.\d+)?$/.test(String(at)) ? Number(at) * 1_000 : at));
export const ForumPost = z.object({ id: z.string() });
const Read = ForumPost.extend({
  title: z.string().nullish(),
  content: z.string().nullish(),
  created_at: Time,
  parent_id: z.string().nullish(),
  attachments: z.array(z.unknown()).default([]),
  comment_count: z.number().nullish(),
  like_count: z.number().nullish(),
  view_count: z.number().nullish(),
  user: z.object({ id: z.string(), username: z.string(), name: z.string().nullish() }),
});
type Read = z.output<typeof Read>;
const listOf = <S extends z.ZodType>(item: S) =>
  z.object({
    data: z.array(item),
    page_info: z.object({ end_cursor: z.string().nullish(), has_next_page: z.boolean().nullish() }).nullish(),
  });
const Posts = listOf(Read);

/** Comments are posts of the same forum, so each post keeps the experience that it is in. */
export const published = (experience: string, id: string): Published => ({
  id,
  url: `https://whop.com/experiences/${experience}/${id}`,
  saved: { experience },
});
export function experienceOf({ saved }: Published): string {
  const { data } = z.object({ experience: z.string() }).safeParse(saved);
  if (!data) throw refused('rejected', 'The forum of this post is not known');
  return data.experience;
}

/** Reads a list to its end, or to its tenth page. */
export async function readAll<S extends z.ZodType>(
  http: Http,
  path: string,
  item: S,
  query: Readonly<Record<string, string>> = {},
): Promise<z.output<S>[]> {
  const all: z.output<S>[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const { data, page_info: info } = await http.get(path, listOf(item), { query: { ...query, first: PAGE, after } });
    all.push(...data);
    if (!info?.has_next_page || !info.end_cursor) break;
    after = info.end_cursor;
  }
  return all;
}

interface Looked {
  http: Http;
  account: string;
  experience: string;
  parent?: string;
  since: Date;
  fits: (one: Read) => boolean;
}
/** Lists own posts of a forum since then, or own comments below a post. */
export async function ownPosts({ http, account, experience, parent, since, fits }: Looked): Promise<Published[]> {
  const { data } = await http.get('/forum_posts', Posts, {
    query: { experience_id: experience, parent_id: parent, first: PAGE },
  });
  return data
    .filter(
      (one) =>
        one.user.id === account && one.created_at >= since && (one.parent_id ?? undefined) === parent && fits(one),
    )
    .map(({ id }) => published(experience, id));
}

/** Reads a page of the comments below a post, each followed by its answers. */
export async function readComments(http: Http, post: Published, after?: string): Promise<CommentPage> {
  const experience_id = experienceOf(post);
  const below = (parent_id: string, cursor?: string) =>
    http.get('/forum_posts', Posts, { query: { experience_id, parent_id, first: PAGE, after: cursor } });
  const { data, page_info: info } = await below(post.id, after);
  const comments: CommentRead[] = [];
  for (const one of data) {
    comments.push(readComment(one));
    if (!one.comment_count) continue;
    const answers = await below(one.id);
    comments.push(...answers.data.map((answer) => ({ ...readComment(answer), parentId: one.id })));
  }
  return { comments, ...(info?.has_next_page && info.end_cursor && { next: info.end_cursor }) };
}

const readComment = ({ id, content, created_at: createdAt, like_count: likes, user }: Read): CommentRead => ({
  id,
  text: content ?? '',
  author: { id: user.id, name: user.name || user.username, handle: `@${user.username}` },
  createdAt,
  ...(likes != null && { likes }),
});

/** Reads the counts of posts; likes and views may not be told. */
export async function countsOf(http: Http, posts: readonly Published[]): Promise<PostCounts[]> {
  const all: PostCounts[] = [];
  for (const { id } of posts) {
    const post = await http.find(`/forum_posts/${encodeURIComponent(id)}`, Read);
    if (!post) continue;
    const { view_count: views, like_count: likes, comment_count: comments } = post;
    const counts = {
      ...(views != null && { views }),
      ...(likes != null && { likes }),
      ...(comments != null && { comments }),
    };
    all.push({ id, counts });
  }
  return all;
}
