import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Values } from '../kit/declare/fields.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { type App, type Connection, type Post, type Published, social, tool } from './_contract.ts';
import { publicUrlOf } from './_limits.ts';
import { commentAtLikes, commentFrom, repostAtLikes, repostFrom } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';
import { authorOf, Cast, castAt, castOf, Conversation, FoundUsers, repliesOf, Users } from './_wrapcast-casts.ts';

const Signer = z.object({ status: z.string(), fid: z.int().optional() });
const Made = z.object({ cast: z.object({ hash: z.string(), author: z.object({ fid: z.int() }) }) });
const Casts = z.object({ casts: z.array(Cast) });
const Channels = z.object({ channels: z.array(z.object({ id: z.string(), name: z.string() })) });
const PAGE = '50';

/** The same for every attempt at a post, in the length that the document recommends. */
const idemOf = (id: string): string => id.replaceAll('-', '').slice(-16);
/** Calls of a login send nothing by themselves. */
const keyOf = ({ clientSecret }: App) => ({ 'x-api-key': clientSecret });
const userOf = (values: Values) => ({ fid: Number(values['fid']), username: values['username'] ?? '' });

/** https://docs.neynar.com/reference: casts go through signers that Neynar keeps for its apps */
export default social({
  id: 'wrapcast',
  version: 'v1',
  status: 'active',
  title: 'Farcaster',
  description: 'Casts on Farcaster, also in its channels.',
  website: 'https://farcaster.xyz',
  authType: 'oauth2',
  setupNotes:
    'The app is one at Neynar, with its API key. Pictures and videos are fetched from this server for as long as the cast is shown, so they must stay there.',
  credentials: {},
  app: clientApp,
  api: 'https://api.neynar.com/v2/farcaster',
  auth: { in: 'header', name: 'x-api-key', app: 'clientSecret' },
  errors: { 401: 'rejected', 403: 'reauthorize' },
  login: {
    kind: 'approval',
    /** The page hands `signer_uuid` to the window that opened it, which sends it as a parameter of the callback. */
    async begin({ http, app }) {
      const { authorization_url: url } = await http.get(
        '/login/authorize/',
        z.object({ authorization_url: z.url({ protocol: /^https$/ }) }),
        { query: { client_id: app.clientId, response_type: 'code' }, headers: keyOf(app) },
      );
      return { url };
    },
    async poll({ http, app, callback }) {
      const signer = callback['signer_uuid'];
      if (signer === undefined) return undefined;
      const headers = keyOf(app);
      const { status, fid } = await http.get('/signer/', Signer, { query: { signer_uuid: signer }, headers });
      if (status === 'revoked') throw refused('reauthorize', 'The signer was revoked');
      if (status !== 'approved' || fid === undefined) return undefined;
      const { users } = await http.get('/user/bulk/', Users, { query: { fids: String(fid) }, headers });
      return { accessToken: signer, values: { fid: String(fid), username: users[0]?.username ?? '' } };
    },
  },
  once: 'key',
  threads: 'reply',
  limits: {
    text: 1_024,
    unit: 'bytes',
    media: 2,
    mediaTypes: ['image/*', 'video/mp4'],
    video: { count: 1 },
    fetches: ['image', 'video'],
  },
  settings: z.looseObject({
    subreddit: z
      .array(z.object({ value: z.object({ id: z.string().regex(/^[a-z0-9_-]{1,64}$/i) }) }))
      .max(1)
      .optional(),
  }),
  plugs: [
    repostAtLikes('wrapcast'),
    commentAtLikes('wrapcast'),
    repostFrom('wrapcast', ['wrapcast']),
    commentFrom('wrapcast', ['wrapcast']),
  ],

  async profile({ http, values }) {
    const { users } = await http.get('/user/bulk/', Users, { query: { fids: String(userOf(values).fid) } });
    const [user] = users;
    if (!user) throw refused('rejected', 'The account is gone');
    const { fid, username, display_name, pfp_url: picture } = user;
    return { id: String(fid), name: display_name || username, handle: `@${username}`, ...(picture && { picture }) };
  },
  publish: ({ thread, settings, ...call }) =>
    cast(call, { parent: thread.at(-1), channel: settings.subreddit?.[0]?.value.id }),
  find: ({ thread, ...call }) => ownCasts(call, thread.at(-1)?.id),
  remove: ({ http, token, published: { id } }) =>
    http.delete('/cast/', { json: { signer_uuid: token, target_hash: id } }),

  comment: {
    once: 'key',
    replies: true,
    send: ({ published, parent = published, ...call }) => cast(call, { parent }),
    find: ({ published, parent = published, ...call }) => ownCasts(call, parent.id),
  },
  async comments({ http, published: { id }, cursor }) {
    const { conversation, next } = await http.get('/cast/conversation/', Conversation, {
      query: { identifier: id, type: 'hash', reply_depth: '2', limit: PAGE, cursor },
    });
    return {
      comments: repliesOf(conversation.cast.direct_replies, id),
      ...(next?.cursor && { next: next.cursor }),
    };
  },
  repost: {
    once: 'key',
    async send({ http, token, repost: { id, published } }) {
      const json = {
        signer_uuid: token,
        reaction_type: 'recast',
        target: published.id,
        target_author_fid: authorOf(published),
        idem: idemOf(id),
      };
      await http.post('/reaction/', z.unknown(), { json, creates: true });
      return { id: published.id, url: published.url };
    },
    async find({ http, account, repost: { published } }) {
      const found = await http.find('/cast/', z.object({ cast: Cast }), {
        query: { identifier: published.id, type: 'hash', viewer_fid: account },
      });
      return found?.cast.viewer_context?.recasted ? { id: published.id, url: published.url } : undefined;
    },
  },
  async mentions({ http, query: q }) {
    const { result } = await http.get('/user/search/', FoundUsers, { query: { q, limit: '10' } });
    return result.users.map(({ username: id, display_name, pfp_url }) => {
      return { id, label: display_name || id, ...(pfp_url && { image: pfp_url }) };
    });
  },
  mention: ({ id }) => (/^[a-z0-9][a-z0-9.-]{0,60}$/.test(id) ? `@${id}` : undefined),
  tools: {
    subreddits: tool({
      description: 'Searches the channels of Farcaster',
      data: z.object({ word: z.string().min(1).max(100) }),
      async call({ http, data: { word } }) {
        const { channels } = await http.get('/channel/search/', Channels, { query: { q: word, limit: '20' } });
        return channels.map(({ id, name }) => ({ id, name, title: name }));
      },
    }),
  },
  async metrics({ http, posts }) {
    const query = { casts: posts.map(({ id }) => id).join(',') };
    const { result } = await http.get('/casts/', z.object({ result: Casts }), { query });
    return result.casts.map(({ hash: id, reactions, replies }) => ({
      id,
      counts: { likes: reactions.likes_count, reposts: reactions.recasts_count, comments: replies.count },
    }));
  },
  metricsAtOnce: 25,
  async channelMetrics({ http, clock, account }) {
    const { users } = await http.get('/user/bulk/', Users, { query: { fids: account } });
    const followers = users[0]?.follower_count;
    return seriesOfNow(clock, { followers });
  },
});

type Casting = Pick<Connection, 'http' | 'token' | 'values' | 'account'> & { post: Post };
interface Place {
  parent?: { id: string; saved?: unknown } | undefined;
  channel?: string | undefined;
}

async function cast({ http, token, values, post }: Casting, { parent, channel }: Place): Promise<Published> {
  const json = {
    signer_uuid: token,
    text: post.text,
    ...(post.media.length > 0 && { embeds: post.media.map((file) => ({ url: publicUrlOf(file) })) }),
    ...(channel && !parent && { channel_id: channel }),
    ...(parent && { parent: parent.id, parent_author_fid: authorOf(parent) }),
    idem: idemOf(post.id),
  };
  const made = await http.post('/cast/', Made, { json, creates: true });
  return castAt(userOf(values).username, made.cast.hash, made.cast.author.fid);
}

async function ownCasts({ http, account, post, since }: Casting & { since: Date }, parent: string | undefined) {
  const { casts } = await http.get('/feed/user/casts/', Casts, { query: { fid: account, limit: PAGE } });
  return casts
    .filter(
      ({ text, timestamp, parent_hash, embeds }) =>
        timestamp >= since &&
        text === post.text &&
        (parent_hash ?? undefined) === parent &&
        embeds.length >= post.media.length,
    )
    .map(castOf);
}
