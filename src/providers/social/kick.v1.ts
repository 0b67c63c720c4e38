import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { type Connection, social } from './_contract.ts';

const Users = z.object({
  data: z.tuple([z.object({ user_id: z.int(), name: z.string(), profile_picture: z.string().nullish() })]),
});
const Channels = z.object({ data: z.tuple([z.object({ slug: z.string() })]) });
const Sent = z.object({ data: z.object({ is_sent: z.boolean(), message_id: z.string() }) });

/** https://docs.kick.com/apis/chat */
export default social({
  id: 'kick',
  version: 'v1',
  status: 'active',
  title: 'Kick',
  description: "Chat messages in a streamer's own Kick channel.",
  website: 'https://kick.com',
  authType: 'oauth2',
  setupNotes:
    'Messages stand in the chat, which nobody can read back: a message whose answer was lost is not sent again.',
  credentials: {},
  app: clientApp,
  api: 'https://api.kick.com/public/v1',
  auth: { in: 'token' },
  login: {
    kind: 'oauth2',
    authorize: 'https://id.kick.com/oauth/authorize',
    token: 'https://id.kick.com/oauth/token',
    scopes: ['user:read', 'channel:read', 'chat:write', 'moderation:chat_message:manage'],
    pkce: true,
  },
  once: 'at-most-once',
  threads: 'message',
  limits: { text: 500, unit: 'characters', media: 0, mediaTypes: [] },
  settings: z.looseObject({}),

  async profile({ http }) {
    const { data } = await http.get('/users', Users);
    const [{ user_id: id, name, profile_picture: picture }] = data;
    return { id: String(id), name, handle: `@${name}`, picture };
  },
  async publish({ post, ...line }) {
    const { data } = await line.http.get('/channels', Channels);
    return { id: await say(line, post.text), url: `https://kick.com/${data[0].slug}` };
  },
  remove: ({ http, published: { id } }) => http.delete(`/chat/${encodeURIComponent(id)}`),
  comment: {
    once: 'at-most-once',
    replies: true,
    async send({ post, published, parent, ...line }) {
      return { id: await say(line, post.text, (parent ?? published).id), url: published.url };
    },
  },
});

/** Answers the id of the message. */
async function say(
  { http, account }: Pick<Connection, 'http' | 'account'>,
  content: string,
  reply_to_message_id?: string,
): Promise<string> {
  const json = { broadcaster_user_id: Number(account), content, type: 'user', reply_to_message_id };
  const { data } = await http.post('/chat', Sent, { json, creates: true });
  if (!data.is_sent) throw refused('rejected', 'Kick did not send the message');
  return data.message_id;
}
