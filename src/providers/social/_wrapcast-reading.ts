import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Operations } from './_contract.ts';
import { seriesOfNow } from './_series.ts';
import { readableIds } from './_told.ts';
import { searching } from './_tools.ts';
import { Cast, CAST_HASH, Conversation, FoundUsers, repliesOf, Users } from './_wrapcast-casts.ts';
import { SignerState } from './_wrapcast-login.ts';

const Counted = z.object({ result: z.object({ casts: z.array(Cast) }) });
const Channels = z.object({ channels: z.array(z.object({ id: z.string(), name: z.string() })) });
const PAGE = '50';

/** The account, others, and what is said below casts. */
export const castReading = {
  /** The account is public: whether the channel may still cast is told by its signer alone. */
  async profile({ http, token, values }) {
    const signer = await http.find('/signer/', SignerState, { query: { signer_uuid: token } });
    if (signer?.status !== 'approved') throw refused('reauthorize', 'The signer is not approved any more');
    const { users } = await http.get('/user/bulk/', Users, { query: { fids: String(Number(values['fid'])) } });
    const [user] = users;
    if (!user) throw refused('rejected', 'The account is gone');
    const { fid, username, display_name, pfp_url: picture } = user;
    return { id: String(fid), name: display_name || username, handle: `@${username}`, picture };
  },
  commentReads: { lists: 'top' },
  async comments({ http, published: { id }, cursor }) {
    const { conversation, next } = await http.get('/cast/conversation/', Conversation, {
      query: { identifier: id, type: 'hash', reply_depth: '2', limit: PAGE, cursor },
    });
    return { comments: repliesOf(conversation.cast.direct_replies, id), next: next?.cursor };
  },
  async metrics({ http, posts }) {
    const ids = readableIds(posts, CAST_HASH);
    if (ids.length === 0) return [];
    const query = { casts: ids.join(',') };
    const { result } = await http.get('/casts/', Counted, { query });
    return result.casts.map(({ hash: id, reactions, replies }) => ({
      id,
      counts: { likes: reactions.likes_count, reposts: reactions.recasts_count, comments: replies.count },
    }));
  },
  metricsAtOnce: 25,
  async channelMetrics({ http, clock, account }) {
    const { users } = await http.get('/user/bulk/', Users, { query: { fids: account } });
    return seriesOfNow(clock, { followers: users[0]?.follower_count });
  },
  async mentions({ http, query: q }) {
    const { result } = await http.get('/user/search/', FoundUsers, { query: { q, limit: '10' } });
    return result.users.map(({ username: id, display_name, pfp_url }) => {
      return { id, label: display_name || id, image: pfp_url || undefined };
    });
  },
  mention: ({ id }) => (/^[a-z0-9][a-z0-9.-]{0,60}$/.test(id) ? `@${id}` : undefined),
  tools: {
    subreddits: searching('Searches the channels of Farcaster', async ({ http, word }) => {
      const { channels } = await http.get('/channel/search/', Channels, { query: { q: word, limit: '20' } });
      return channels.map(({ id, name }) => ({ id, name, title: name }));
    }),
  },
} satisfies Operations;
