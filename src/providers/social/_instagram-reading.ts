import { z } from 'zod';
import { whenFailed } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { CommentTold, NewComment, Operations, Published } from './_contract.ts';
import { allPages } from './_lists.ts';
import { countsOf, daysQuery, Gone, Id, Insights, listOf, seriesOf } from './_meta-graph.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';
import { topOf } from './_top.ts';

// Comments and counts of Instagram with either login.

const Answer = z.object({
  id: z.string(),
  text: z.string().default(''),
  username: z.string().nullish(),
  from: z.object({ id: z.string(), username: z.string().nullish() }).nullish(),
  timestamp: z.coerce.date(),
  like_count: z.number().nullish(),
  hidden: z.boolean().nullish(),
});
const Comment = Answer.extend({ replies: z.object({ data: z.array(Answer) }).nullish() });
const FIELDS = 'id,text,username,from,timestamp,like_count,hidden';

const readComment = (one: z.output<typeof Answer>, parentId?: string): CommentTold => {
  const name = one.from?.username ?? one.username ?? '';
  return {
    id: one.id,
    text: one.text,
    author: { id: one.from?.id ?? '', name, handle: name ? `@${name}` : undefined },
    createdAt: one.timestamp,
    parentId,
    saved: parentId,
    likes: one.like_count,
    hidden: one.hidden,
  };
};
/** Instagram puts answers to an answer below the comment at the top, which alone lists them. */
const answersAt = (call: NewComment): string => {
  const top = topOf(call);
  return top === undefined ? `/${call.published.id}/comments` : `/${top}/replies`;
};
const madeBy = (call: NewComment, id: string): Published => {
  const saved = topOf(call);
  return { id, url: call.published.url, ...(saved !== undefined && { saved }) };
};
const MOST_PAGES = 20;
const METRICS = {
  views: 'views',
  reach: 'reach',
  shares: 'shares',
  total_interactions: 'engagements',
  saved: 'saves',
} as const;
const Counted = z.object({
  like_count: z.number().nullish(),
  comments_count: z.number().nullish(),
  media_product_type: z.string().nullish(),
});
/** Counts that Instagram may not tell of this media or account. */
const insightsAt = (http: Http, path: string, query: Readonly<Record<string, string>>) =>
  whenFailed(
    'rejected',
    () => http.get(path, Insights, { query }),
    async () => ({ data: [] }),
  );

const DAILY = { reach: 'reach', follower_count: 'followersGained' } as const;
const Account = z.object({ followers_count: z.number().optional(), media_count: z.number().optional() });

/** Comments, and what is told of posts and of the account. */
export const instagramReading = {
  /** Comments hold text only. Their address is that of the post. */
  comment: {
    once: 'read-back',
    replies: true,
    limits: WITHOUT_FILES,
    async send({ http, ...call }) {
      const { id } = await http.post(answersAt(call), Id, { json: { message: call.post.text }, creates: true });
      return madeBy(call, id);
    },
    /**
     * Instagram knows the account by another id here, so that comments of anybody with this text are answered. Comments
     * come newest first, answers in an order that is not told.
     */
    async find({ http, since, ...call }) {
      const all = await allPages(call.parent ? MOST_PAGES : 1, async (after) => {
        const query = { fields: FIELDS, limit: '50', after };
        const { data: items, next } = await http.get(answersAt(call), listOf(Answer), { query });
        return { items, next };
      });
      return all
        .filter(({ text, timestamp }) => timestamp >= since && text.trim() === call.post.text.trim())
        .map(({ id }) => madeBy(call, id));
    },
  },
  commentReads: { lists: 'top' },
  async comments({ http, published: { id }, cursor: after }) {
    const query = { fields: `${FIELDS},replies{${FIELDS}}`, limit: '50', after };
    const { data, next } = await http.get(`/${id}/comments`, listOf(Comment), { query });
    const all = data.flatMap(({ replies, ...one }) => [
      readComment(one),
      ...(replies?.data ?? []).map((answer) => readComment(answer, one.id)),
    ]);
    return { comments: all, next };
  },
  async hide({ http, comment: { id }, hidden }) {
    await http.post(`/${id}`, z.unknown(), { json: { hide: hidden } });
  },
  /** Likes and comments are told of all media; the rest is refused for some, such as those of before the account. */
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const query = { fields: 'like_count,comments_count,media_product_type' };
      const media = await http.find(`/${id}`, Counted, { query, absent: Gone });
      if (!media) return undefined;
      const { like_count: likes, comments_count: answers, media_product_type: type } = media;
      const names = Object.keys(METRICS).filter((name) => name !== 'saved' || type !== 'STORY');
      const insights = await insightsAt(http, `/${id}/insights`, { metric: names.join(',') });
      return { likes, comments: answers, ...countsOf(insights, METRICS) };
    }),
  /** Counts by day, those of new followers only from 100 followers on; followers and media now. */
  async channelMetrics({ http, account, clock, ...days }) {
    const path = `/${account}/insights`;
    const query = { period: 'day', ...daysQuery(days) };
    const reach = await http.get(path, Insights, { query: { metric: 'reach', ...query } });
    const gained = await insightsAt(http, path, { metric: 'follower_count', ...query });
    const now = await http.get(`/${account}`, Account, { query: { fields: 'followers_count,media_count' } });
    return [
      ...seriesOf({ data: [...reach.data, ...gained.data] }, DAILY, days),
      ...seriesOfNow(clock, { followers: now.followers_count, posts: now.media_count }),
    ];
  },
} satisfies Operations;
