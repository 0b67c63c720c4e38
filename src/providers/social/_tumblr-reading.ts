import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { Operations, Published } from './_contract.ts';
import { chosenPage, keepPage } from './_pages.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';
import { answered, Blog, blogNamed, blogOf } from './_tumblr-blog.ts';

const User = answered(z.object({ user: z.object({ name: z.string(), blogs: z.array(Blog) }) }));
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
const shown = ({ uuid: id, name, title, avatar: pictures }: z.output<typeof Blog>) => ({
  id,
  name: title || name,
  handle: `@${name}`,
  picture: pictures?.[0]?.url,
});
async function notesOf(http: Http, account: string, published: Published, before?: string) {
  const query = { id: published.id, mode: 'conversation', before_timestamp: before };
  return (await http.get(`/blog/${blogOf(published, account)}/notes`, Notes, { query })).response;
}

/** The blogs of the connected person, and the notes on their posts. */
export const tumblrReading = {
  async profile({ http, values }) {
    const blog = chosenPage(values, 'blog');
    if (blog === undefined) {
      const { response } = await http.get('/user/info', User);
      return { id: response.user.name, name: response.user.name, handle: `@${response.user.name}` };
    }
    return shown(await blogNamed(http, blog));
  },
  async pages({ http }) {
    const { response } = await http.get('/user/info', User);
    return response.user.blogs.map(shown);
  },
  choose: keepPage('blog'),
  async comments({ http, account, published, cursor }) {
    const { notes, _links: links } = await notesOf(http, account, published, cursor);
    return {
      comments: notes.flatMap(({ type, blog_name: name, blog_uuid: id = name, timestamp, ...note }) => {
        const text = type === 'reply' ? note.reply_text : note.added_text;
        const createdAt = new Date(timestamp * 1_000);
        return text ? [{ id: `${name}-${timestamp}`, text, author: { id, name, handle: `@${name}` }, createdAt }] : [];
      }),
      next: links?.next.query_params.before_timestamp,
    };
  },
  metrics: ({ http, account, posts }) =>
    countsOfEach(posts, async (published) => {
      const notes = await notesOf(http, account, published);
      const { total_notes: engagements, total_likes: likes, total_reblogs: reposts } = notes;
      return { engagements, likes, reposts };
    }),
  async channelMetrics({ http, clock, account }) {
    const { posts } = await blogNamed(http, account);
    const Followers = answered(z.object({ total_users: z.int() }));
    const { response } = await http.get(`/blog/${account}/followers`, Followers, { query: { limit: '1' } });
    return seriesOfNow(clock, { followers: response.total_users, posts });
  },
} satisfies Operations;
