import { z } from 'zod';
import { clientApp } from '../kit/protocols/oauth.ts';
import { social, tool } from './_contract.ts';
import { commentAtLikes } from './_plugs.ts';
import { listOf, me, ownComments, ownPosts, RAW, readComments, restrictionsOf } from './_reddit-reading.ts';
import { answerOf, dataOf, filesOf, PICTURE_BYTES, Saved, Settings, SITE, submit, upload } from './_reddit-submit.ts';
import { seriesOfNow } from './_series.ts';

const POLL_MS = 10_000;
/** By which the clock of Reddit may be behind ours. */
const CLOCKS_MS = 60_000;
const USER_AGENT = 'server:rookery:v1';

const Thing = z.object({ data: z.object({ name: z.string(), permalink: z.string() }) });
const Counts = z.object({ name: z.string(), score: z.number().nullish(), num_comments: z.number().nullish() });
const Subreddit = z.object({ id: z.string(), display_name: z.string(), title: z.string().nullish() });

/** https://www.reddit.com/dev/api */
export default social({
  id: 'reddit',
  version: 'v1',
  status: 'active',
  title: 'Reddit',
  description: 'Texts, links, pictures and videos in subreddits.',
  website: SITE,
  authType: 'oauth2',
  setupNotes:
    'Reddit approves each app under its Responsible Builder Policy before it gets a client id; commercial use needs a contract. A subreddit may remove a post without a word.',
  credentials: {},
  app: clientApp,
  api: 'https://oauth.reddit.com',
  hosts: { www: SITE },
  auth: [
    { in: 'token' },
    { in: 'header', name: 'user-agent', text: USER_AGENT },
    { in: 'header', host: 'www', name: 'user-agent', text: USER_AGENT },
  ],
  login: {
    kind: 'oauth2',
    authorize: '{www}/api/v1/authorize',
    token: '{www}/api/v1/access_token',
    scopes: ['identity', 'read', 'submit', 'flair', 'history', 'edit', 'mysubreddits'],
    asks: { duration: 'permanent' },
    secretIn: 'header',
    revoke: { at: '{www}/api/v1/revoke_token', of: 'refresh' },
    refusal: z.object({ error: z.literal(400) }).transform(() => 'reauthorize' as const), // a renewal after a revocation
  },
  once: 'read-back',
  threads: 'comment',
  editor: 'markdown',
  processesWithinMs: 30 * 60_000,
  limits: {
    text: 40_000,
    unit: 'characters',
    media: 20,
    mediaTypes: ['image/jpeg', 'image/png', 'image/gif', 'video/mp4', 'video/quicktime'],
    oneKind: true,
    image: { bytes: PICTURE_BYTES },
    video: { count: 1, bytes: 1_000_000_000, seconds: [0, 900] },
  },
  settings: Settings,
  plugs: [commentAtLikes('reddit')],

  async profile({ http }) {
    const { id, name, icon_img: picture } = await me(http);
    return { id, name, handle: `u/${name}`, ...(picture && { picture }) };
  },
  async prepare({ http, clock, post, settings: { subreddit }, saved, save }) {
    const files = await filesOf(subreddit[0].value, post);
    const { assets } = Saved.parse(saved);
    const next = files[assets.length];
    if (!next) return 'ready';
    await save({ assets: [...assets, await upload({ http, clock }, next)] });
    return files.length === assets.length + 1 ? 'ready' : { againMs: 0 };
  },
  async publish({ http, clock, post, settings: { subreddit }, saved, save }) {
    const { assets } = Saved.parse(saved);
    if (assets.length > 0) await save({ assets, sentAt: clock.now().toISOString() });
    const made = await submit(http, { post, target: subreddit[0].value, assets });
    return made ?? { processingMs: POLL_MS };
  },
  async poll({ http, settings, saved }) {
    const sentAt = Saved.parse(saved).sentAt!; // `publish`
    const own = await ownPosts({ http, settings, since: new Date(sentAt.getTime() - CLOCKS_MS) });
    return own[0] ?? { processingMs: POLL_MS };
  },
  find: (call) => ownPosts(call),
  async remove({ http, published: { id } }) {
    await http.post('/api/del', z.unknown(), { form: { id } });
  },

  comment: {
    once: 'read-back',
    replies: true,
    text: 10_000,
    async send({ http, published: { id }, parent, post }) {
      const answer = await http.post('/api/comment', answerOf(z.object({ things: z.tuple([Thing]) })), {
        form: { api_type: 'json', thing_id: parent?.id ?? id, text: post.text },
        query: RAW,
        creates: true,
      });
      const { name, permalink } = dataOf(answer).things[0].data;
      return { id: name, url: SITE + permalink };
    },
    find: (call) => ownComments(call),
  },
  comments: async ({ http, published }) => ({ comments: await readComments(http, published) }),

  async metrics({ http, posts }) {
    const id = posts.map((post) => post.id).join(',');
    const { data } = await http.get('/api/info', listOf(Counts), { query: { ...RAW, id } });
    return data.children.map(({ data: { name, score: likes, num_comments: comments } }) => ({
      id: name,
      counts: { ...(likes != null && { likes }), ...(comments != null && { comments }) },
    }));
  },
  metricsAtOnce: 100,
  async channelMetrics({ http, clock }) {
    const { subreddit } = await me(http);
    return seriesOfNow(clock, { followers: subreddit?.subscribers });
  },
  tools: {
    subreddits: tool({
      description: 'Searches subreddits by a word',
      data: z.object({ word: z.string().min(1).max(100) }),
      async call({ http, data: { word } }) {
        const query = { ...RAW, q: word, limit: '10' };
        const { data } = await http.get('/subreddits/search', listOf(Subreddit), { query });
        return data.children.map(({ data: { id, display_name: name, title } }) => ({ id, name, title: title ?? name }));
      },
    }),
    restrictions: tool({
      description: 'Tells what a subreddit takes: types of posts, flairs, lengths',
      data: z.object({ subreddit: z.string().regex(/^\/?(?:r\/)?\w{2,30}\/?$/) }),
      call: ({ http, data: { subreddit } }) => restrictionsOf(http, subreddit),
    }),
  },
});
