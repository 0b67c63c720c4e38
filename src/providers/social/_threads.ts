import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Clock } from '../kit/declare/adapter.ts';
import type { Named, Http } from '../kit/wire/http.ts';
import type { CommentPage, LookUp, Media, Post, PostCounts, Published, Series } from './_contract.ts';
import { publicUrlOf } from './_limits.ts';
import { type Containers, findMedia, Linked, published } from './_meta-containers.ts';
import { countsOf, Gone, Id, Insights, listOf, seriesNow, seriesOf } from './_meta-graph.ts';

// The calls of the Threads API.

const PICTURE = { maxBytes: 8_000_000, types: ['image/jpeg', 'image/png'] };
export interface Call {
  http: Http;
  account: string;
}
/** A post, or an answer to another one. */
export type Item = Call & { post: Post; replyTo?: string | undefined };

async function fieldsOf(file: Media): Promise<Named> {
  const alt_text = file.alt || undefined;
  if (file.kind === 'video') return { media_type: 'VIDEO', video_url: publicUrlOf(file), alt_text };
  const picture = await file.fit(PICTURE);
  if (!picture) throw refused('rejected', `${file.name} is not a picture that Threads takes`);
  return { media_type: 'IMAGE', image_url: publicUrlOf(picture), alt_text };
}
const State = z.object({ status: z.string(), error_message: z.string().nullish() });
export const containers = ({ http, account, post, replyTo }: Item): Containers => {
  const item = { text: post.text || undefined, reply_to_id: replyTo };
  return {
    title: 'Threads',
    make: async (fields) => (await http.post(`/${account}/threads`, Id, { form: { ...fields } })).id,
    async state(container) {
      const query = { fields: 'status,error_message' };
      const { status: code, error_message: words } = await http.get(`/${container}`, State, { query });
      return { code, words };
    },
    single: async (file) => ({ ...(file ? await fieldsOf(file) : { media_type: 'TEXT' }), ...item }),
    child: async (file) => ({ ...(await fieldsOf(file)), is_carousel_item: 'true' }),
    parent: (children) => ({ media_type: 'CAROUSEL', children: children.join(','), ...item }),
  };
};
export const publishAt = ({ account }: Call): string => `/${account}/threads_publish`;

const Own = Linked.extend({ text: z.string().default(''), timestamp: z.coerce.date(), replied_to: Id.nullish() });
const seconds = (time: number): string => String(Math.floor(time / 1000));
/** Answers to others are in a list of their own. */
export const findItem = (item: Item, { saved, since }: Pick<LookUp, 'saved' | 'since'>) =>
  findMedia(item.http, containers(item), saved, async () => {
    const { http, account, post, replyTo } = item;
    const query = { fields: 'id,text,permalink,timestamp,replied_to', since: seconds(since.getTime()), limit: '50' };
    const edge = replyTo === undefined ? 'threads' : 'replies';
    const { data } = await http.get(`/${account}/${edge}`, listOf(Own), { query });
    return data
      .filter(
        ({ text, timestamp, replied_to }) =>
          timestamp >= since && text.trim() === post.text.trim() && (replied_to?.id ?? replyTo) === replyTo,
      )
      .map(published);
  });
const Repost = Id.extend({ timestamp: z.coerce.date(), reposted_post: Id.nullish() });
/** Reposts of the account are among its posts. */
export async function findRepost({ http, account }: Call, { id, url }: Published, since: Date): Promise<Published[]> {
  const query = { fields: 'id,timestamp,reposted_post', since: seconds(since.getTime()), limit: '50' };
  const { data } = await http.get(`/${account}/threads`, listOf(Repost), { query });
  return data
    .filter(({ timestamp, reposted_post: of }) => timestamp >= since && of?.id === id)
    .map((one) => ({ id: one.id, url }));
}

const Reply = Linked.extend({
  text: z.string().default(''),
  username: z.string().default(''),
  timestamp: z.coerce.date(),
  replied_to: Id.nullish(),
  hide_status: z.string().nullish(),
});
/** Answers at every depth. */
export async function conversation({
  http,
  published: { id },
  cursor: after,
}: Call & { published: Published; cursor?: string | undefined }): Promise<CommentPage> {
  const fields = 'id,text,username,permalink,timestamp,replied_to,hide_status';
  const { data, next } = await http.get(`/${id}/conversation`, listOf(Reply), { query: { fields, after } });
  return {
    comments: data.map((one) => ({
      id: one.id,
      text: one.text,
      author: { id: one.username, name: one.username, handle: `@${one.username}` },
      createdAt: one.timestamp,
      ...(one.replied_to && one.replied_to.id !== id && { parentId: one.replied_to.id }),
      ...(one.permalink && { url: one.permalink }),
      ...(one.hide_status && { hidden: one.hide_status === 'HIDDEN' }),
    })),
    ...(next !== undefined && { next }),
  };
}

const METRICS = {
  views: 'views',
  likes: 'likes',
  replies: 'comments',
  reposts: 'reposts',
  quotes: 'quotes',
  shares: 'shares',
} as const;
export async function postCounts({ http, posts }: Call & { posts: readonly Published[] }): Promise<PostCounts[]> {
  const query = { metric: Object.keys(METRICS).join(',') };
  const lists = await Promise.all(
    posts.map(async ({ id }) => {
      const insights = await http.find(`/${id}/insights`, Insights, { query, absent: Gone });
      return insights ? [{ id, counts: countsOf(insights, METRICS) }] : [];
    }),
  );
  return lists.flat();
}
const DAY_MS = 86_400_000;
/** Views by day, and the followers now; Threads tells the rest as sums only. */
export async function accountCounts({
  http,
  account,
  clock,
  ...days
}: Call & { clock: Clock; from: string; to: string }): Promise<Series[]> {
  const path = `/${account}/threads_insights`;
  const range = { since: seconds(Date.parse(days.from)), until: seconds(Date.parse(days.to) + DAY_MS) };
  const views = await http.get(path, Insights, { query: { metric: 'views', ...range } });
  const followers = await http.get(path, Insights, { query: { metric: 'followers_count' } });
  return [
    ...seriesOf(views, { views: 'views' }, days),
    ...seriesNow(clock.now(), countsOf(followers, { followers_count: 'followers' })),
  ];
}
