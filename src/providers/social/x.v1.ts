import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Limits, type Published, social } from './_contract.ts';
import { checkFiles } from './_limits.ts';
import { commentAtLikes, commentFrom, repostAtLikes, repostFrom } from './_plugs.ts';
import { Problem, ProblemInside } from './_x-problems.ts';
import { bodyOf, draftOf, filesOf, isArticle, published, Settings } from './_x-post.ts';
import { countsOfPosts, readReplies, repeated, similar, User, userNamed } from './_x-reading.ts';
import { IMAGE_BYTES, Saved, uploadStep } from './_x-upload.ts';
import { seriesOfNow } from './_series.ts';

const ARTICLE = { text: 100_000, unit: 'characters', media: 20, mediaTypes: ['image/*'], image: {} } as const;
const LIMITS: Limits = {
  text: 280,
  unit: 'weighted',
  media: 4,
  oneKind: true,
  mediaTypes: ['image/jpeg', 'image/png', 'image/webp', 'image/gif', 'video/mp4', 'video/quicktime', 'video/webm'],
  image: { bytes: IMAGE_BYTES },
  video: { count: 1, bytes: 512_000_000, seconds: [0.5, 140], ratio: [1 / 3, 3] },
  byType: { setting: 'post_type', limits: { article: ARTICLE } },
};
const PREMIUM_TEXT = 25_000;

const Made = z.object({ data: z.object({ id: z.string() }) });
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

const create = async (http: Http, json: object): Promise<Published> =>
  published((await http.post('/tweets', Made, { json, creates: true })).data.id);

/** https://docs.x.com/x-api/posts/create-post, with the fields of the OpenAPI description 2.167 */
export default social({
  id: 'x',
  version: 'v1',
  status: 'active',
  title: 'X',
  description: 'Posts, threads, media and articles on X.',
  website: 'https://x.com',
  authType: 'oauth2',
  setupNotes:
    'X charges the app for each call: about 0.015 USD for a post, 0.20 USD for one with a link, 0.005 USD for a post that is read. It refuses replies to people who have not mentioned or quoted the account. Long posts and articles need X Premium.',
  credentials: {},
  app: {
    clientId: text('OAuth 2 client id', { required: false }),
    clientSecret: secret('OAuth 2 client secret', { required: false }),
    consumerKey: text('OAuth 1 consumer key', { required: false }),
    consumerSecret: secret('OAuth 1 consumer secret', { required: false }),
  },
  appOneOf: [
    ['clientId', 'clientSecret'],
    ['consumerKey', 'consumerSecret'],
  ],
  api: 'https://api.x.com/2',
  auth: { in: 'token' },
  errorOf: Problem,
  errorInside: ProblemInside,
  login: {
    kind: 'oauth2',
    authorize: 'https://x.com/i/oauth2/authorize',
    token: 'https://api.x.com/2/oauth2/token',
    scopes: ['tweet.read', 'tweet.write', 'tweet.moderate.write', 'users.read', 'media.write', 'offline.access'],
    pkce: true,
    secretIn: 'header',
    revoke: { at: 'https://api.x.com/2/oauth2/revoke' },
    refusal: z
      .object({ error: z.literal('invalid_request'), error_description: z.string().regex(/token was invalid/i) })
      .transform(() => 'reauthorize' as const),
    oauth1: {
      request: 'https://api.x.com/oauth/request_token',
      authorize: 'https://api.x.com/oauth/authenticate',
      access: 'https://api.x.com/oauth/access_token',
    },
  },
  once: 'read-back',
  threads: 'reply',
  pace: [
    { per: 'account', posts: 100, ms: 900_000 },
    { per: 'app', posts: 10_000, ms: 86_400_000 },
  ],
  limits: LIMITS,
  settings: Settings,
  fileSettings: ['article_cover'],
  plugs: [repostAtLikes('x'), commentAtLikes('x'), repostFrom('x', ['x']), commentFrom('x', ['x'])],

  async profile({ http }) {
    const { data } = await http.get('/users/me', Me, { query: { 'user.fields': 'profile_image_url' } });
    const { id, name, username, profile_image_url: picture } = data;
    return { id, name, handle: `@${username}`, ...(picture && { picture }) };
  },
  async channelLimits({ http }) {
    const { subscription_type: plan, verified_type: mark } = await accountOf(http, 'subscription_type,verified_type');
    const isPremium = /^(?:basic|premium)/i.test(plan ?? '') || /^(?:blue|business|government)$/.test(mark ?? '');
    return isPremium ? { text: PREMIUM_TEXT } : {};
  },

  async prepare({ post, settings, thread, saved, ...line }) {
    const article = isArticle(settings, { thread });
    const state = Saved.parse(saved);
    // the limits of a network with limits of its own by account are the adapter's to check
    const [issue] = checkFiles(article ? { ...LIMITS, ...ARTICLE } : LIMITS, post.media);
    if (issue) throw refused('rejected', issue.message);
    if (post.media.length > 1 && post.media.some(({ contentType }) => contentType === 'image/gif') && !article)
      throw refused('rejected', 'X takes an animated picture only alone');
    const next = filesOf(post, article)[state.ids.length];
    if (next) return uploadStep(line, next, state);
    if (article && state.draft === undefined) {
      const json = draftOf(post, settings, state.ids);
      const { data } = await line.http.post('/articles/draft', Made, { json });
      await line.save({ ids: state.ids, draft: data.id });
    }
    return 'ready';
  },
  async publish({ http, post, settings, thread, saved }) {
    const { ids, draft } = Saved.parse(saved);
    if (!isArticle(settings, { thread })) return create(http, bodyOf(post, settings, { thread, ids }));
    if (settings.article_status === 'draft') return { id: draft!, url: `https://x.com/compose/articles/edit/${draft}` };
    const Article = z.object({ data: z.object({ post_id: z.string() }) });
    const { data } = await http.post(`/articles/${draft}/publish`, Article, { creates: true });
    return published(data.post_id);
  },
  find: ({ post, settings, thread, ...own }) =>
    similar(own, {
      text: post.plain,
      parent: thread.at(-1)?.id,
      media: post.media.length,
      ...(isArticle(settings, { thread }) && { title: settings.article_title }),
    }),
  remove: ({ http, published: { id } }) => http.delete(`/tweets/${id}`),

  comment: {
    once: 'read-back',
    replies: true,
    send: ({ http, post, published: of, parent }) =>
      create(http, { text: post.text, reply: { in_reply_to_tweet_id: (parent ?? of).id } }),
    find: ({ post, published: of, parent, ...own }) =>
      similar(own, { text: post.plain, parent: (parent ?? of).id, media: 0 }),
  },
  repost: {
    once: 'read-back',
    async send({ http, account, repost: { published: of } }) {
      const Reposted = z.object({ data: z.object({ retweeted: z.literal(true) }) });
      await http.post(`/users/${account}/retweets`, Reposted, { json: { tweet_id: of.id }, creates: true });
      return published(of.id);
    },
    find: ({ repost, ...own }) => repeated(own, repost.published),
  },
  comments: ({ http, published: of, cursor }) => readReplies(http, of, cursor),
  async hide({ http, comment: { id }, hidden }) {
    await http.put(`/tweets/${id}/hidden`, z.unknown(), { json: { hidden } });
  },
  async mentions({ http, query }) {
    const name = query.replace(/^@/, '');
    const user = /^\w{1,15}$/.test(name) ? await userNamed(http, name) : undefined;
    return user ? [{ id: user.username, label: user.name, image: user.profile_image_url ?? undefined }] : [];
  },
  mention: ({ id }) => (/^\w{1,15}$/.test(id) ? `@${id}` : undefined),

  metrics: ({ http, posts }) => countsOfPosts(http, posts),
  metricsAtOnce: 100,
  async channelMetrics({ http, clock }) {
    const { public_metrics: told } = await accountOf(http, 'public_metrics');
    return seriesOfNow(clock, { followers: told?.followers_count, posts: told?.post_count ?? told?.tweet_count });
  },
});
