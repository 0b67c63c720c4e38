import { z } from 'zod';
import type { NewComment, Operations, Published } from './_contract.ts';
import { Linked, PHOTO_RULES, published, uploadPhoto } from './_facebook-posts.ts';
import { countsOf, daysQuery, Gone, Id, Insights, listOf, seriesOf } from './_meta-graph.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';
import { topOf } from './_top.ts';

const Comment = Linked.extend({
  message: z.string().default(''),
  created_time: z.coerce.date(),
  from: z.object({ id: z.string(), name: z.string() }).nullish(), // told only with a permission of its own
  parent: Id.nullish(),
  like_count: z.number().nullish(),
  is_hidden: z.boolean().nullish(),
});
const COMMENT_FIELDS = 'id,message,created_time,from,parent{id},like_count,is_hidden,permalink_url';
const readComment = (one: z.output<typeof Comment>) => ({
  id: one.id,
  text: one.message,
  author: one.from ?? { id: '', name: '' },
  createdAt: one.created_time,
  parentId: one.parent?.id,
  saved: one.parent?.id,
  url: one.permalink_url,
  likes: one.like_count,
  hidden: one.is_hidden,
});
/** There is one level of answers: those to an answer stand below the comment at the top. */
const answersAt = (call: NewComment): string => `/${topOf(call) ?? call.published.id}/comments`;
const madeBy = (call: NewComment, made: z.output<typeof Linked>): Published => {
  const saved = topOf(call);
  return { ...published(made), ...(saved !== undefined && { saved }) };
};
const order = { fields: COMMENT_FIELDS, order: 'reverse_chronological', limit: '100' };
const METRICS = {
  post_media_view: 'views',
  post_total_media_view_unique: 'reach',
  post_clicks: 'clicks',
} as const;
const total = z.object({ summary: z.object({ total_count: z.number().optional() }).optional() }).optional();
const Counted = z.object({
  reactions: total,
  comments: total,
  shares: z.object({ count: z.number() }).optional(),
  insights: Insights.optional(),
});
const summary = 'limit(0).summary(total_count)';
const COUNTED = `reactions.${summary},comments.${summary},shares,insights.metric(${Object.keys(METRICS).join(',')})`;
const PAGE_METRICS = {
  page_media_view: 'views',
  page_total_media_view_unique: 'reach',
  page_post_engagements: 'engagements',
  page_daily_follows: 'followersGained',
} as const;
const Followers = z.object({ followers_count: z.number().optional() });

/** Comments, and what is told of posts and of the page. */
export const facebookReading = {
  comment: {
    once: 'read-back',
    replies: true,
    limits: { media: 1, mediaTypes: PHOTO_RULES.types },
    async send(call) {
      const { http, post } = call;
      const [picture] = post.media;
      const photo = picture && (await uploadPhoto(call, picture));
      const json = { ...(post.text && { message: post.text }), ...(photo && { attachment_id: photo }) };
      const query = { fields: 'id,permalink_url' };
      return madeBy(call, await http.post(answersAt(call), Linked, { query, json, creates: true }));
    },
    /** Comments of the page itself with the same text, at the same place. */
    async find({ http, account, since, ...call }) {
      const query = { ...order, filter: 'toplevel' };
      const { data } = await http.get(answersAt(call), listOf(Comment), { query });
      return data
        .filter(
          ({ message, created_time: at, from }) =>
            at >= since && message.trim() === call.post.text.trim() && (!from || from.id === account),
        )
        .map((one) => madeBy(call, one));
    },
  },
  async comments({ http, published: { id }, cursor: after }) {
    const query = { ...order, filter: 'stream', after };
    const { data, next } = await http.get(`/${id}/comments`, listOf(Comment), { query });
    return { comments: data.map(readComment), next };
  },
  async hide({ http, comment: { id }, hidden }) {
    await http.post(`/${id}`, z.unknown(), { json: { is_hidden: hidden } });
  },
  /** A reaction counts as a like: Facebook tells no other number of them. */
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const read = await http.find(`/${id}`, Counted, { query: { fields: COUNTED }, absent: Gone });
      return (
        read && {
          likes: read.reactions?.summary?.total_count,
          comments: read.comments?.summary?.total_count,
          shares: read.shares?.count,
          ...(read.insights && countsOf(read.insights, METRICS)),
        }
      );
    }),
  /** Counts of the page by day, and its followers now. */
  async channelMetrics({ http, account, clock, from, to }) {
    const query = { metric: Object.keys(PAGE_METRICS).join(','), period: 'day', ...daysQuery({ from, to }) };
    const insights = await http.get(`/${account}/insights`, Insights, { query });
    const { followers_count: followers } = await http.get(`/${account}`, Followers, {
      query: { fields: 'followers_count' },
    });
    return [...seriesOf(insights, PAGE_METRICS, { from, to }), ...seriesOfNow(clock, { followers })];
  },
} satisfies Operations;
