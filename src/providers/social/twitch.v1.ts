import { z } from 'zod';
import { refused, refusedRepeat } from '../kit/declare/fallback.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { type Connection, social } from './_contract.ts';
import { seriesOfNow } from './_series.ts';

const Users = z.object({
  data: z.tuple([
    z.object({ id: z.string(), login: z.string(), display_name: z.string(), profile_image_url: z.string().nullish() }),
  ]),
});
const Sent = z.object({
  data: z.tuple([
    z.object({
      message_id: z.string(),
      is_sent: z.boolean(),
      drop_reason: z.object({ code: z.string(), message: z.string() }).nullish(),
    }),
  ]),
});
const TOO_FAST = ['msg_ratelimit', 'msg_slowmode'];

/** https://dev.twitch.tv/docs/api/reference/#send-chat-message */
export default social({
  id: 'twitch',
  version: 'v1',
  status: 'active',
  title: 'Twitch',
  description: "Chat messages and announcements in a streamer's own Twitch channel.",
  website: 'https://www.twitch.tv',
  authType: 'oauth2',
  setupNotes:
    'Messages stand in the chat, which nobody can read back: a message whose answer was lost is not sent again. Twitch deletes no messages of the streamer.',
  credentials: {},
  app: clientApp,
  api: 'https://api.twitch.tv/helix',
  auth: [{ in: 'token' }, { in: 'header', name: 'client-id', app: 'clientId' }],
  login: {
    kind: 'oauth2',
    authorize: 'https://id.twitch.tv/oauth2/authorize',
    token: 'https://id.twitch.tv/oauth2/token',
    scopes: ['user:write:chat', 'moderator:manage:announcements', 'moderator:read:followers'],
    revoke: { at: 'https://id.twitch.tv/oauth2/revoke' },
    refusal: z
      .object({ message: z.string().regex(/invalid (?:refresh token|authorization code|client)/i) })
      .transform(() => 'reauthorize' as const),
  },
  once: 'at-most-once',
  threads: 'message',
  pace: [{ per: 'account', posts: 20, ms: 30_000 }],
  limits: { text: 500, unit: 'characters', media: 0, mediaTypes: [] },
  settings: z.looseObject({
    messageType: z.enum(['message', 'announcement']).default('message'),
    announcementColor: z.enum(['primary', 'blue', 'green', 'orange', 'purple']).default('primary'),
  }),

  async profile({ http }) {
    const { data } = await http.get('/users', Users);
    const [{ id, login, display_name: name, profile_image_url: picture }] = data;
    return { id, name, handle: `@${login}`, picture };
  },
  async publish({ post, settings: { messageType, announcementColor: color }, ...line }) {
    const { http, account } = line;
    const url = await addressOf(line);
    if (messageType === 'message') return { id: await say(line, post.text), url };
    await http.post('/chat/announcements', z.unknown(), {
      query: { broadcaster_id: account, moderator_id: account },
      json: { message: post.text, color },
      creates: true,
    });
    return { id: post.id, url }; // an announcement has no id
  },
  comment: {
    once: 'at-most-once',
    replies: true,
    unless: [{ messageType: 'announcement' }], // it has no id that could be answered
    async send({ post, published, parent, ...line }) {
      return { id: await say(line, post.text, (parent ?? published).id), url: published.url };
    },
  },
  async channelMetrics({ http, account, clock }) {
    const query = { broadcaster_id: account, first: '1' };
    const { total: followers } = await http.get('/channels/followers', z.object({ total: z.int() }), { query });
    return seriesOfNow(clock, { followers });
  },
});

type Line = Pick<Connection, 'http' | 'account'>;
async function addressOf({ http }: Line): Promise<string> {
  const { data } = await http.get('/users', Users);
  return `https://www.twitch.tv/${data[0].login}`;
}

/** Answers the id of the message; one that Twitch dropped is refused with its reason. */
async function say({ http, account }: Line, message: string, reply_parent_message_id?: string): Promise<string> {
  const json = { broadcaster_id: account, sender_id: account, message, reply_parent_message_id };
  const { data } = await http.post('/chat/messages', Sent, { json, creates: true });
  const [{ message_id: id, is_sent: isSent, drop_reason: why }] = data;
  if (isSent) return id;
  const words = `Twitch dropped the message: ${why?.message ?? 'it gives no reason'}`;
  if (why?.code === 'msg_duplicate') throw refusedRepeat(words);
  const failure = TOO_FAST.includes(why?.code ?? '') ? 'rate_limited' : 'rejected';
  throw refused(failure, words);
}
