import { z } from 'zod';
import type { Operations } from './_contract.ts';
import { Linked } from './_meta-containers.ts';
import { countsOf, Gone, Id, Insights, listOf, seriesOf } from './_meta-graph.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';

const Me = Id.extend({
  username: z.string(),
  name: z.string().nullish(),
  threads_profile_picture_url: z.url().nullish().catch(undefined),
});
const Reply = Linked.extend({
  text: z.string().default(''),
  username: z.string().default(''),
  timestamp: z.coerce.date(),
  replied_to: Id.nullish(),
  hide_status: z.string().nullish(),
});
const METRICS = {
  views: 'views',
  likes: 'likes',
  replies: 'comments',
  reposts: 'reposts',
  quotes: 'quotes',
  shares: 'shares',
} as const;
const DAY_MS = 86_400_000;
const secondsOf = (date: string, days = 0): string => String((Date.parse(date) + days * DAY_MS) / 1_000);

/** The account, answers to its posts, and what is told of them. */
export const threadsReading = {
  async profile({ http }) {
    const query = { fields: 'id,username,name,threads_profile_picture_url' };
    const { id, username, name, threads_profile_picture_url: picture } = await http.get('/me', Me, { query });
    return { id, name: name || username, handle: `@${username}`, picture };
  },
  /** Answers at every depth. */
  async comments({ http, published: { id }, cursor: after }) {
    const fields = 'id,text,username,permalink,timestamp,replied_to,hide_status';
    const { data, next } = await http.get(`/${id}/conversation`, listOf(Reply), { query: { fields, after } });
    const comments = data.map((one) => ({
      id: one.id,
      text: one.text,
      author: { id: one.username, name: one.username, handle: `@${one.username}` },
      createdAt: one.timestamp,
      parentId: one.replied_to?.id === id ? undefined : one.replied_to?.id,
      url: one.permalink,
      hidden: one.hide_status ? one.hide_status === 'HIDDEN' : undefined,
    }));
    return { comments, next };
  },
  async hide({ http, comment: { id }, hidden }) {
    await http.post(`/${id}/manage_reply`, z.unknown(), { form: { hide: String(hidden) } });
  },
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const query = { metric: Object.keys(METRICS).join(',') };
      const insights = await http.find(`/${id}/insights`, Insights, { query, absent: Gone });
      return insights && countsOf(insights, METRICS);
    }),
  /** Views by day, and the followers now; Threads tells the rest as sums only. */
  async channelMetrics({ http, account, clock, ...days }) {
    const path = `/${account}/threads_insights`;
    const range = { since: secondsOf(days.from), until: secondsOf(days.to, 1) };
    const views = await http.get(path, Insights, { query: { metric: 'views', ...range } });
    const followers = await http.get(path, Insights, { query: { metric: 'followers_count' } });
    return [
      ...seriesOf(views, { views: 'views' }, days),
      ...seriesOfNow(clock, countsOf(followers, { followers_count: 'followers' })),
    ];
  },
} satisfies Operations;
