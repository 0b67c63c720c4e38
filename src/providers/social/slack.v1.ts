import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { commentAtLikes, commentFrom } from './_plugs.ts';
import {
  addresses,
  Done,
  failureInside,
  join,
  loginRefusal,
  Messages,
  ownMessage,
  partsOf,
  Reactions,
  sendText,
  sharedMessage,
  shareFiles,
  uploadNext,
} from './_slack-messages.ts';
import { namesOf, peopleLike, personOf } from './_slack-people.ts';

const Team = z.object({
  ok: z.literal(true),
  team: z.string(),
  team_id: z.string(),
  user: z.string(),
  user_id: z.string(),
});
const Channels = z.object({
  ok: z.literal(true),
  channels: z.array(z.object({ id: z.string(), name: z.string() })),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});
const Reacted = Done.extend({
  message: z.object({ reactions: Reactions, reply_count: z.int().optional() }).optional(),
});
const SCOPES = [
  'channels:read',
  'groups:read',
  'channels:join',
  'chat:write',
  'users:read',
  'files:read',
  'files:write',
];
const HISTORY = ['channels:history', 'groups:history', 'reactions:read'];
const SHARE_MS = 2_000;
const MOST_PAGES = 10;
const total = (reactions: z.output<typeof Reactions>) => reactions.reduce((sum, { count }) => sum + count, 0);

/** https://docs.slack.dev/reference/methods/chat.postMessage */
export default social({
  id: 'slack',
  version: 'v1',
  status: 'active',
  title: 'Slack',
  description: 'Messages of an app in the channels of a Slack workspace.',
  website: 'https://slack.com',
  authType: 'oauth2',
  setupNotes:
    'Private channels need an invitation of the app. Without the history scopes a message whose answer was lost is not looked up, and comments are not read; Slack lets apps that are distributed outside its marketplace read histories about once a minute.',
  credentials: {},
  app: clientApp,
  api: 'https://slack.com/api',
  auth: { in: 'token' },
  errorInside: failureInside,
  login: {
    kind: 'oauth2',
    authorize: 'https://slack.com/oauth/v2/authorize',
    token: 'https://slack.com/api/oauth.v2.access',
    scopes: [...SCOPES, ...HISTORY],
    optionalScopes: HISTORY,
    scopeSeparator: ',',
    revoke: { at: 'https://slack.com/api/auth.revoke', bearer: true },
    refusal: loginRefusal,
  },
  once: 'read-back',
  threads: 'reply',
  textForm: 'mrkdwn',
  pace: [{ per: 'account', posts: 1, ms: 1_000 }],
  limits: {
    text: 40_000,
    unit: 'characters',
    media: 10,
    mediaTypes: ['image/*', 'video/*', 'audio/*', 'application/pdf'],
    image: { bytes: 1_000_000_000 },
    video: { bytes: 1_000_000_000 },
    document: { bytes: 1_000_000_000 },
  },
  settings: z.looseObject({ channel: z.string().regex(/^[CG][A-Z0-9]{1,20}$/) }),
  plugs: [commentAtLikes('slack'), commentFrom('slack', ['slack'])],

  async profile({ http }) {
    const { team: name, team_id: id, user, user_id } = await http.get('/auth.test', Team);
    const picture = (await personOf(http, user_id))?.profile.image_192;
    return { id, name, handle: `@${user}`, ...(picture && { picture }) };
  },
  async prepare({ post: { media }, saved, save, ...line }) {
    return (await uploadNext(line, { media, saved, save })) ? { againMs: 0 } : 'ready';
  },
  async publish({ http, post, settings: { channel }, thread: [root], saved }) {
    const place = root ? partsOf(root.id) : { channel, ts: undefined };
    const at = await addresses(http);
    if (!root) await join(http, channel);
    if (post.media.length === 0) return at(place.channel, await sendText(http, place.channel, post, place.ts));
    await shareFiles(http, place.channel, post, { saved, thread_ts: place.ts });
    return { processingMs: SHARE_MS };
  },
  poll: async ({ http, saved }) => (await sharedMessage(http, saved)) ?? { processingMs: SHARE_MS },
  processesWithinMs: 3_600_000,
  async find({ http, post, settings: { channel }, thread: [root], saved, since }) {
    if (post.media.length > 0) return sharedMessage(http, saved);
    return ownMessage(http, { channel, ts: undefined, ...(root && partsOf(root.id)), post, since });
  },
  async remove({ http, published }) {
    await http.post('/chat.delete', Done, { json: partsOf(published.id) });
  },

  comment: {
    once: 'read-back',
    async send({ http, post, published }) {
      if (post.media.length > 0) throw refused('rejected', 'Comments in Slack have no files here');
      const { channel, ts } = partsOf(published.id);
      const at = await addresses(http);
      return at(channel, await sendText(http, channel, post, ts));
    },
    find: ({ http, post, published, since }) => ownMessage(http, { ...partsOf(published.id), post, since }),
  },
  async comments({ http, published, cursor }) {
    const { channel, ts } = partsOf(published.id);
    const query = { channel, ts, limit: '15', cursor };
    const { messages, response_metadata: more } = await http.get('/conversations.replies', Messages, { query });
    const below = messages.filter((one) => one.ts !== ts);
    const names = await namesOf(
      http,
      below.flatMap(({ user }) => user ?? []),
    );
    const comments = below.map(({ ts: id, text, user = '', username, reactions }) => ({
      id: `${channel}/${id}`,
      text,
      author: { id: user, name: names.get(user) ?? username ?? user },
      createdAt: new Date(Math.floor(Number(id) * 1_000)),
      likes: total(reactions),
    }));
    return { comments, ...(more?.next_cursor && { next: more.next_cursor }) };
  },
  async metrics({ http, posts }) {
    const found = await Promise.all(
      posts.map(({ id }) => {
        const { channel, ts: timestamp } = partsOf(id);
        return http.get('/reactions.get', Reacted, { query: { channel, timestamp, full: 'true' } });
      }),
    );
    return found.flatMap(({ message }, n) => {
      if (!message) return [];
      const { reactions, reply_count: comments } = message;
      return [
        { id: posts[n]!.id, counts: { reactions: total(reactions), ...(comments !== undefined && { comments }) } },
      ];
    });
  },
  mentions: ({ http, query }) => peopleLike(http, query),
  mention: ({ id }) => (/^[UW][A-Z0-9]{1,20}$/.test(id) ? `<@${id}>` : undefined),
  tools: {
    channels: {
      description: 'Lists the channels of the workspace, private ones where the app is a member',
      data: z.object({}),
      call: async ({ http }) => {
        const all: { id: string; name: string }[] = [];
        let cursor: string | undefined;
        for (let page = 0; page < MOST_PAGES; page += 1) {
          const query = { types: 'public_channel,private_channel', exclude_archived: 'true', limit: '200', cursor };
          const { channels, response_metadata: more } = await http.get('/conversations.list', Channels, { query });
          all.push(...channels);
          cursor = more?.next_cursor;
          if (!cursor) break;
        }
        return all;
      },
    },
  },
});
