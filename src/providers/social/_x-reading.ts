import { z } from 'zod';
import { shownText } from '../../platform/content/index.ts';
import type { Http } from '../kit/wire/http.ts';
import type { CommentTold, Operations } from './_contract.ts';
import { plainHandle } from './_handles.ts';
import { seriesOfNow } from './_series.ts';
import { readableIds } from './_told.ts';
import { FIELDS, list, PAGE, referred, Shown, textOf, User } from './_x-own.ts';
import { COMPETITORS } from './_x-login.ts';
import { published } from './_x-post.ts';

const Reply = Shown.extend({ author_id: z.string(), created_at: z.coerce.date() });
/** What is not there is an entry of `errors` beside, or in place of, `data`. */
const errors = z.array(z.unknown()).min(1);
const Posts = z.union([z.object({ data: z.array(Shown) }), z.object({ errors, data: z.undefined().optional() })]);
const FoundUser = z.union([z.object({ data: User }), z.object({ errors, data: z.undefined().optional() })]);

type Reply = z.output<typeof Reply>;
function commentOf(reply: Reply, root: string, users: ReadonlyMap<string, z.output<typeof User>>): CommentTold {
  const { id, author_id: author, created_at: createdAt, public_metrics: told } = reply;
  const user = users.get(author);
  const parent = referred(reply, 'replied_to');
  return {
    id,
    text: shownText(textOf(reply)),
    author: {
      id: author,
      name: user?.name ?? '',
      handle: user && `@${user.username}`,
      picture: user?.profile_image_url,
    },
    createdAt,
    parentId: parent === root ? undefined : parent,
    url: published(id).url,
    likes: told?.like_count,
  };
}

const Known = User.extend({
  public_metrics: z
    .object({
      followers_count: z.number().nullish(),
      post_count: z.number().nullish(),
      tweet_count: z.number().nullish(),
    })
    .nullish(),
});
const FoundKnown = z.union([z.object({ data: Known }), z.object({ errors, data: z.undefined().optional() })]);

/** Looks up one account by its exact name: a search would be paid for each account that it finds. */
const userNamed = async (http: Http, name: string) =>
  (await http.get(`/users/by/username/${name}`, FoundUser, { query: { 'user.fields': 'profile_image_url' } })).data;
/** Greatest length of a text of an account that pays. */
const PREMIUM_TEXT = 25_000;
const Me = z.object({ data: User });
const count = z.number().nullish();
const Account = z.object({
  data: z.object({
    verified_type: z.string().nullish(),
    subscription_type: z.string().nullish(),
    public_metrics: z.object({ followers_count: count, post_count: count, tweet_count: count }).nullish(),
  }),
});
const accountOf = async (http: Http, fields: string) =>
  (await http.get('/users/me', Account, { query: { 'user.fields': fields } })).data;

/** The account, replies to its posts, and what is told of them. */
export const xReading = {
  async profile({ http }) {
    const { data } = await http.get('/users/me', Me, { query: { 'user.fields': 'profile_image_url' } });
    const { id, name, username, profile_image_url: picture } = data;
    return { id, name, handle: `@${username}`, picture };
  },
  async channelLimits({ http }) {
    const { subscription_type: plan, verified_type: mark } = await accountOf(http, 'subscription_type,verified_type');
    const isPremium = /^(?:basic|premium)/i.test(plan ?? '') || /^(?:blue|business|government)$/.test(mark ?? '');
    return isPremium ? { text: PREMIUM_TEXT } : {};
  },
  commentReads: { scarce: true, lists: 'some' }, // each reply that is read is paid for
  /** The replies of the last seven days in the conversation of a post. */
  async comments({ http, published: { id: root }, cursor }) {
    const { data, includes, meta } = await http.get('/tweets/search/recent', list(Reply), {
      query: {
        query: `conversation_id:${root} is:reply`,
        max_results: String(PAGE),
        [FIELDS]: 'created_at,entities,note_post,public_metrics',
        expansions: 'author_id,referenced_posts',
        'user.fields': 'profile_image_url',
        next_token: cursor,
      },
      answerBytes: 4 * 1024 * 1024,
    });
    const users = new Map((includes?.users ?? []).map((user) => [user.id, user]));
    return { comments: data.map((reply) => commentOf(reply, root, users)), next: meta.next_token };
  },
  async hide({ http, comment: { id }, hidden }) {
    await http.put(`/tweets/${id}/hidden`, z.unknown(), { json: { hidden } });
  },
  publicProfile: {
    by: 'channel',
    optIn: COMPETITORS,
    example: '@name',
    read: (typed) => plainHandle(typed, /^\w{1,15}$/),
    async find({ http, handle }) {
      const query = { 'user.fields': 'profile_image_url,public_metrics' };
      const { data } = await http.get(`/users/by/username/${handle.slice(1)}`, FoundKnown, { query });
      if (!data) return undefined;
      const { id, name, profile_image_url: picture, public_metrics: told } = data;
      return {
        id,
        name,
        picture,
        counts: { followers: told?.followers_count, posts: told?.post_count ?? told?.tweet_count },
      };
    },
  },
  async mentions({ http, query }) {
    const name = query.replace(/^@/, '');
    const user = /^\w{1,15}$/.test(name) ? await userNamed(http, name) : undefined;
    return user ? [{ id: user.username, label: user.name, image: user.profile_image_url }] : [];
  },
  mention: ({ id }) => (/^\w{1,15}$/.test(id) ? `@${id}` : undefined),
  async metrics({ http, posts }) {
    const ids = readableIds(posts, /^\d{1,19}$/);
    if (ids.length === 0) return [];
    const query = { ids: ids.join(','), [FIELDS]: 'public_metrics' };
    const { data } = await http.get('/tweets', Posts, { query });
    return (data ?? []).map(({ id, public_metrics: told }) => ({
      id,
      counts: {
        impressions: told?.impression_count,
        likes: told?.like_count,
        reposts: told?.repost_count ?? told?.retweet_count,
        comments: told?.reply_count,
        quotes: told?.quote_count,
        saves: told?.bookmark_count,
      },
    }));
  },
  metricsAtOnce: 100,
  async channelMetrics({ http, clock }) {
    const { public_metrics: told } = await accountOf(http, 'public_metrics');
    return seriesOfNow(clock, { followers: told?.followers_count, posts: told?.post_count ?? told?.tweet_count });
  },
} satisfies Operations;
