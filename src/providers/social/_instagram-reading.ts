import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { CommentPage, CommentRead, LookUp, NewComment, PostCounts, Published, Series } from './_contract.ts';
import { countsOf, daysQuery, Gone, Id, Insights, listOf, seriesNow, seriesOf } from './_meta-graph.ts';

// Comments and counts of Instagram with either login.

interface Call {
  http: Http;
  account: string;
}
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

/** Comments hold text only. Their address is that of the post. */
export const comment = {
  once: 'read-back',
  replies: true,
  async send({ http, post, published: { id, url }, parent }: Call & NewComment): Promise<Published> {
    if (post.media.length > 0) throw refused('rejected', 'A comment on Instagram holds no files');
    const path = parent ? `/${parent.id}/replies` : `/${id}/comments`;
    const made = await http.post(path, Id, { json: { message: post.text }, creates: true });
    return { id: made.id, url };
  },
  /** Instagram knows the account by another id here, so that comments of anybody with this text are answered. */
  async find({ http, post, published: { id, url }, parent, since }: Call & NewComment & LookUp) {
    const path = parent ? `/${parent.id}/replies` : `/${id}/comments`;
    const { data } = await http.get(path, listOf(Answer), { query: { fields: FIELDS, limit: '50' } });
    return data
      .filter(({ text, timestamp }) => timestamp >= since && text.trim() === post.text.trim())
      .map((one): Published => ({ id: one.id, url }));
  },
} as const;

const readComment = (one: z.output<typeof Answer>, parentId?: string): CommentRead => {
  const name = one.from?.username ?? one.username ?? '';
  return {
    id: one.id,
    text: one.text,
    author: { id: one.from?.id ?? '', name, ...(name && { handle: `@${name}` }) },
    createdAt: one.timestamp,
    ...(parentId !== undefined && { parentId }),
    ...(one.like_count != null && { likes: one.like_count }),
    ...(one.hidden != null && { hidden: one.hidden }),
  };
};
export async function comments({
  http,
  published: { id },
  cursor: after,
}: Call & { published: Published; cursor?: string | undefined }): Promise<CommentPage> {
  const query = { fields: `${FIELDS},replies{${FIELDS}}`, limit: '50', after };
  const { data, next } = await http.get(`/${id}/comments`, listOf(Comment), { query });
  return {
    comments: data.flatMap(({ replies, ...one }) => [
      readComment(one),
      ...(replies?.data ?? []).map((answer) => readComment(answer, one.id)),
    ]),
    ...(next !== undefined && { next }),
  };
}
export async function hide({ http, comment: { id }, hidden }: Call & { comment: { id: string }; hidden: boolean }) {
  await http.post(`/${id}`, z.unknown(), { json: { hide: hidden } });
}

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
/** Likes and comments are told of all media; the rest is refused for some, such as those of before the account. */
export async function metrics({ http, posts }: Call & { posts: readonly Published[] }): Promise<PostCounts[]> {
  const lists = await Promise.all(
    posts.map(async ({ id }) => {
      const query = { fields: 'like_count,comments_count,media_product_type' };
      const media = await http.find(`/${id}`, Counted, { query, absent: Gone });
      if (!media) return [];
      const { like_count: likes, comments_count: answers, media_product_type: type } = media;
      const names = Object.keys(METRICS).filter((name) => name !== 'saved' || type !== 'STORY');
      const insights = await told(http, `/${id}/insights`, { metric: names.join(',') });
      return {
        id,
        counts: {
          ...(likes != null && { likes }),
          ...(answers != null && { comments: answers }),
          ...countsOf(insights, METRICS),
        },
      };
    }),
  );
  return lists.flat();
}
/** Counts that Instagram may not tell of this media or account. */
const told = (http: Http, path: string, query: Readonly<Record<string, string>>) =>
  whenFailed(
    'rejected',
    () => http.get(path, Insights, { query }),
    async () => ({ data: [] }),
  );

const DAILY = { reach: 'reach', follower_count: 'followersGained' } as const;
const Account = z.object({ followers_count: z.number().optional(), media_count: z.number().optional() });
/** Counts by day, those of new followers only from 100 followers on; followers and media now. */
export async function channelMetrics({
  http,
  account,
  clock,
  ...days
}: Call & { clock: Clock; from: string; to: string }): Promise<Series[]> {
  const path = `/${account}/insights`;
  const query = { period: 'day', ...daysQuery(days) };
  const reach = await http.get(path, Insights, { query: { metric: 'reach', ...query } });
  const gained = await told(http, path, { metric: 'follower_count', ...query });
  const now = await http.get(`/${account}`, Account, { query: { fields: 'followers_count,media_count' } });
  const { followers_count: followers, media_count: posts } = now;
  return [
    ...seriesOf({ data: [...reach.data, ...gained.data] }, DAILY, days),
    ...seriesNow(clock.now(), { ...(followers !== undefined && { followers }), ...(posts !== undefined && { posts }) }),
  ];
}
