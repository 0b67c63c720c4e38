import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { CommentTold, Operations, Published } from './_contract.ts';
import { allPages } from './_lists.ts';
import { countsOfEach } from './_told.ts';
import { listing, tool } from './_tools.ts';

export const PAGE = '50';
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
export type Read = z.output<typeof Read>;
const listOf = <S extends z.ZodType>(item: S) =>
  z.object({
    data: z.array(item),
    page_info: z.object({ end_cursor: z.string().nullish(), has_next_page: z.boolean().nullish() }).nullish(),
  });
export const Posts = listOf(Read);

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

const readAll = <S extends z.ZodType>(
  http: Http,
  path: string,
  item: S,
  query: Readonly<Record<string, string>> = {},
): Promise<z.output<S>[]> =>
  allPages(PAGES, async (after) => {
    const { data: items, page_info: info } = await http.get(path, listOf(item), {
      query: { ...query, first: PAGE, after },
    });
    return { items, next: info?.has_next_page ? info.end_cursor : undefined };
  });

const Person = z.object({
  sub: z.string(),
  preferred_username: z.string().nullish(),
  name: z.string().nullish(),
  picture: z.url().nullish().catch(undefined),
});
const Company = z.object({ id: z.string(), title: z.string() });
const Forum = z.object({ experience: z.object({ id: z.string(), name: z.string() }) });

const readComment = ({ id, content, created_at: createdAt, like_count: likes, user }: Read): CommentTold => ({
  id,
  text: content ?? '',
  author: { id: user.id, name: user.name || user.username, handle: `@${user.username}` },
  createdAt,
  likes,
});

/** The person, their companies and forums, and what is said and told there. */
export const whopReading = {
  async profile({ http }) {
    const { sub, name, preferred_username, picture } = await http.get('https://api.whop.com/oauth/userinfo', Person);
    return {
      id: sub,
      name: name || preferred_username || sub,
      handle: preferred_username ? `@${preferred_username}` : '',
      picture,
    };
  },
  commentReads: { lists: 'top' },
  /** Each comment is followed by its answers. */
  async comments({ http, published: of, cursor }) {
    const experience_id = experienceOf(of);
    const below = (parent_id: string, after?: string) =>
      http.get('/forum_posts', Posts, { query: { experience_id, parent_id, first: PAGE, after } });
    const { data, page_info: info } = await below(of.id, cursor);
    const comments: CommentTold[] = [];
    for (const one of data) {
      comments.push(readComment(one));
      if (!one.comment_count) continue;
      const answers = await below(one.id);
      comments.push(...answers.data.map((answer) => ({ ...readComment(answer), parentId: one.id })));
    }
    return { comments, next: info?.has_next_page ? info.end_cursor : undefined };
  },
  /** Likes and views may not be told. */
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const post = await http.find(`/forum_posts/${encodeURIComponent(id)}`, Read);
      const { view_count: views, like_count: likes, comment_count: comments } = post ?? {};
      return post && { views, likes, comments };
    }),
  tools: {
    companies: listing('Lists the companies of the person', ({ http }) =>
      readAll(
        http,
        '/companies',
        Company.transform(({ id, title: name }) => ({ id, name })),
      ),
    ),
    experiences: tool({
      description: 'Lists the forums of a company',
      data: z.object({ id: z.string().regex(/^\w{1,100}$/) }),
      call: ({ http, data: { id } }) =>
        readAll(
          http,
          '/forums',
          Forum.transform(({ experience }) => experience),
          { company_id: id },
        ),
    }),
  },
} satisfies Operations;
