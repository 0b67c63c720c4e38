import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import type { Http } from '../kit/wire/http.ts';
import type {
  CommentPage,
  CommentRead,
  LookUp,
  Media,
  NewComment,
  Post,
  PostCounts,
  Published,
  Series,
} from './_contract.ts';
import { refused } from '../kit/declare/fallback.ts';
import { countsOf, daysQuery, Gone, Id, Insights, listOf, seriesNow, seriesOf } from './_meta-graph.ts';

// What a page shows of its posts, photos, stories and comments.

interface Call {
  http: Http;
  account: string;
}
export const Linked = Id.extend({ permalink_url: z.url().nullish() });
export const published = ({ id, permalink_url: url }: z.output<typeof Linked>): Published => ({ id, url: url ?? '' });

const PHOTO_RULES = { maxBytes: 4_000_000, types: ['image/jpeg', 'image/png', 'image/gif'] };
/** Uploads a photo that nobody sees before it is attached. */
export async function uploadPhoto({ http, account }: Call, file: Media): Promise<string> {
  const source = await file.fit(PHOTO_RULES);
  if (!source) throw refused('rejected', `${file.name} is not a picture that Facebook takes`);
  const multipart = { published: 'false', alt_text_custom: file.alt || undefined, source };
  return (await http.post(`/${account}/photos`, Id, { multipart })).id;
}

const Attachment = z.object({
  media_type: z.string().nullish(),
  subattachments: z.object({ data: z.array(z.unknown()) }).nullish(),
});
const OwnPost = Linked.extend({
  message: z.string().default(''),
  created_time: z.coerce.date(),
  attachments: z.object({ data: z.array(Attachment) }).nullish(),
});
const filesOf = ({ attachments }: z.output<typeof OwnPost>): number =>
  (attachments?.data ?? []).reduce(
    (sum, { media_type: type, subattachments }) =>
      sum + (subattachments?.data.length ?? (type === 'photo' || type === 'video' ? 1 : 0)),
    0,
  );
/** Posts of the page with the same text and as many files. */
export async function ownPosts({ http, account, post, since }: Call & { post: Post; since: Date }) {
  const fields = 'id,permalink_url,message,created_time,attachments{media_type,subattachments.limit(30){media_type}}';
  const seconds = String(Math.floor(since.getTime() / 1000));
  const { data } = await http.get(`/${account}/published_posts`, listOf(OwnPost), {
    query: { fields, since: seconds, limit: '100' },
  });
  return data
    .filter(
      (one) =>
        one.created_time >= since && one.message.trim() === post.text.trim() && filesOf(one) === post.media.length,
    )
    .map(published);
}

const Story = z.object({ post_id: z.coerce.string(), media_id: z.coerce.string().nullish() });
export const storyAt = ({ post_id: id }: Pick<z.output<typeof Story>, 'post_id'>): Published => ({
  id,
  url: `https://www.facebook.com/${id}`,
});
/** The story that shows this photo. */
export async function findStory({ http, account }: Call, photo: string): Promise<Published | undefined> {
  const { data } = await http.get(`/${account}/stories`, listOf(Story));
  const found = data.find(({ media_id: media }) => media === photo);
  return found && storyAt(found);
}

const Comment = Linked.extend({
  message: z.string().default(''),
  created_time: z.coerce.date(),
  from: z.object({ id: z.string(), name: z.string() }).nullish(), // told only with a permission of its own
  parent: Id.nullish(),
  like_count: z.number().nullish(),
  is_hidden: z.boolean().nullish(),
});
const COMMENT_FIELDS = 'id,message,created_time,from,parent{id},like_count,is_hidden,permalink_url';
const readComment = (one: z.output<typeof Comment>): CommentRead => ({
  id: one.id,
  text: one.message,
  author: one.from ?? { id: '', name: '' },
  createdAt: one.created_time,
  ...(one.parent && { parentId: one.parent.id }),
  ...(one.permalink_url && { url: one.permalink_url }),
  ...(one.like_count != null && { likes: one.like_count }),
  ...(one.is_hidden != null && { hidden: one.is_hidden }),
});
const order = { fields: COMMENT_FIELDS, order: 'reverse_chronological', limit: '100' };
export async function readComments({
  http,
  published: { id },
  cursor: after,
}: Call & { published: Published; cursor?: string | undefined }): Promise<CommentPage> {
  const query = { ...order, filter: 'stream', after };
  const { data, next } = await http.get(`/${id}/comments`, listOf(Comment), { query });
  return { comments: data.map(readComment), ...(next !== undefined && { next }) };
}
/** Comments of the page itself with the same text, at the same place. */
export async function ownComments({
  http,
  account,
  post,
  published: below,
  parent,
  since,
}: Call & NewComment & LookUp) {
  const query = { ...order, filter: 'toplevel' };
  const { data } = await http.get(`/${parent?.id ?? below.id}/comments`, listOf(Comment), { query });
  return data
    .filter(
      ({ message, created_time: at, from }) =>
        at >= since && message.trim() === post.text.trim() && (!from || from.id === account),
    )
    .map(published);
}

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
/** A reaction counts as a like: Facebook tells no other number of them. */
export async function postCounts({ http, posts }: Call & { posts: readonly Published[] }): Promise<PostCounts[]> {
  const lists = await Promise.all(
    posts.map(async ({ id }) => {
      const read = await http.find(`/${id}`, Counted, { query: { fields: COUNTED }, absent: Gone });
      if (!read) return [];
      const { reactions, comments, shares, insights } = read;
      const likes = reactions?.summary?.total_count;
      const answers = comments?.summary?.total_count;
      return {
        id,
        counts: {
          ...(likes !== undefined && { likes }),
          ...(answers !== undefined && { comments: answers }),
          ...(shares && { shares: shares.count }),
          ...(insights && countsOf(insights, METRICS)),
        },
      };
    }),
  );
  return lists.flat();
}

const PAGE_METRICS = {
  page_media_view: 'views',
  page_total_media_view_unique: 'reach',
  page_post_engagements: 'engagements',
  page_daily_follows: 'followersGained',
} as const;
const Followers = z.object({ followers_count: z.number().optional() });
/** Counts of the page by day, and its followers now. */
export async function pageCounts({
  http,
  account,
  clock,
  from,
  to,
}: Call & { clock: Clock; from: string; to: string }): Promise<Series[]> {
  const query = { metric: Object.keys(PAGE_METRICS).join(','), period: 'day', ...daysQuery({ from, to }) };
  const insights = await http.get(`/${account}/insights`, Insights, { query });
  const { followers_count: followers } = await http.get(`/${account}`, Followers, {
    query: { fields: 'followers_count' },
  });
  const now = followers === undefined ? [] : seriesNow(clock.now(), { followers });
  return [...seriesOf(insights, PAGE_METRICS, { from, to }), ...now];
}
