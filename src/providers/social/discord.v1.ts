import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, type Values } from '../kit/declare/fields.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { failureIn } from './_chat.ts';
import { social } from './_contract.ts';
import {
  chosenChannel,
  FILE_BYTES,
  IMAGE_TYPES,
  Message,
  messageAt,
  Messages,
  openForumPost,
  partsOf,
  sendMessage,
  similarIn,
  similarInForum,
  threadBelow,
} from './_discord-messages.ts';
import { commentOf, countsOf, guildOf, imageOf } from './_discord-reading.ts';
import { commentAtLikes, commentFrom, repostAtLikes } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';

const Guild = z.object({
  id: z.string(),
  name: z.string(),
  icon: z.string().nullish(),
  premium_tier: z.int().optional(),
  approximate_member_count: z.int().nullish(),
});
const Channels = z.array(z.object({ id: z.string(), name: z.string(), type: z.int() }));
const Members = z.array(
  z.object({ nick: z.string().nullish(), user: Message.shape.author.pick({ id: true, username: true, avatar: true }) }),
);
const Roles = z.array(z.object({ id: z.string(), name: z.string(), managed: z.boolean() }));
/** Text, announcement and forum channels. */
const POSTABLE = [0, 5, 15];
/** Messages and answers; others tell what happened, such as that a thread was opened. */
const WRITTEN = [0, 19];
const CROSSPOSTED = 1;
/** Bytes of a file, by the tier of a boosted server. */
const BOOSTED: Readonly<Record<number, number>> = { 2: 52_428_800, 3: 104_857_600 };
const PAGE = 100;
/** VIEW_CHANNEL, SEND_MESSAGES, EMBED_LINKS, ATTACH_FILES, READ_MESSAGE_HISTORY and those of public threads. */
const PERMISSIONS = [10n, 11n, 14n, 15n, 16n, 35n, 38n].reduce((all, bit) => all | (1n << bit), 0n);

/** https://discord.com/developers/docs/resources/message */
export default social({
  id: 'discord',
  version: 'v1',
  status: 'active',
  title: 'Discord',
  description: "Messages of a bot in a Discord server's text, announcement and forum channels.",
  website: 'https://discord.com',
  authType: 'oauth2',
  setupNotes:
    'Whoever connects adds the bot of the app to a server. Texts of comments by others are empty unless the bot has the privileged Message Content intent. A popular post is repeated by publishing it to the followers of its announcement channel.',
  credentials: {},
  app: { ...clientApp, botToken: secret('Bot token') },
  api: 'https://discord.com/api/v10',
  auth: [
    { in: 'header', name: 'authorization', prefix: 'Bot ', app: 'botToken' },
    { in: 'header', name: 'user-agent', text: 'DiscordBot (rookery, 1)' },
  ],
  errors: { 401: 'rejected' }, // the bot of the app, not the login of the channel
  errorOf: z
    .object({ code: failureIn({ 10_004: 'reauthorize', 20_028: 'rate_limited' }) })
    .transform(({ code }) => code),
  login: {
    kind: 'oauth2',
    authorize: 'https://discord.com/oauth2/authorize',
    token: 'https://discord.com/api/oauth2/token',
    scopes: ['bot', 'identify', 'guilds'],
    secretIn: 'header',
    asks: { permissions: String(PERMISSIONS), integration_type: '0' },
    keeps: { answer: { guild: 'guild.id' } },
    revoke: { at: 'https://discord.com/api/oauth2/token/revoke' },
  },
  once: 'key',
  threads: 'reply',
  editor: 'markdown',
  limits: {
    text: 2_000,
    unit: 'characters',
    media: 10,
    mediaTypes: [...IMAGE_TYPES, 'video/*', 'audio/*', 'application/pdf'],
    image: { bytes: FILE_BYTES },
    video: { bytes: FILE_BYTES },
    document: { bytes: FILE_BYTES },
  },
  settings: z.looseObject({ channel: z.string().regex(/^\d{1,20}$/) }),
  plugs: [repostAtLikes('discord'), commentAtLikes('discord'), commentFrom('discord', ['discord'])],

  async profile({ http, values }) {
    const guild = (values as Values)['guild'];
    if (guild === undefined) throw refused('reauthorize', 'No server was chosen');
    const { id, name, icon } = await http.get(`/guilds/${guild}`, Guild);
    return { id, name, handle: name, ...(icon && { picture: imageOf('icons', id, icon) }) };
  },
  async channelLimits({ http, account }) {
    const { premium_tier: tier = 0 } = await http.get(`/guilds/${account}`, Guild);
    return { video: { bytes: BOOSTED[tier] ?? FILE_BYTES } };
  },

  async publish({ post, settings: { channel }, thread: [root], ...line }) {
    const { http, account } = line;
    if (root) {
      const below = await threadBelow(http, root, post);
      return messageAt(account, below, await sendMessage(line, below, post));
    }
    const { isForum } = await chosenChannel(line, channel);
    if (!isForum) return messageAt(account, channel, await sendMessage(line, channel, post));
    const opened = await openForumPost(line, channel, post);
    return messageAt(account, opened, opened);
  },
  async find({ post, settings: { channel }, thread: [root], since, ...line }) {
    const { http, account } = line;
    if (!root && (await chosenChannel(line, channel)).isForum)
      return (await similarInForum(line, channel, post, since)).map((id) => messageAt(account, id, id));
    const place = root ? partsOf(root.id).message : channel;
    return (await similarIn(http, place, post, since)).map((id) => messageAt(account, place, id));
  },
  remove: ({ http, published }) => http.delete(partsOf(published.id).path),

  comment: {
    once: 'key',
    replies: true,
    async send({ post, published, parent, ...line }) {
      const below = await threadBelow(line.http, published, post);
      const answered = parent && partsOf(parent.id).message;
      return messageAt(guildOf(published.url), below, await sendMessage(line, below, post, answered));
    },
    async find({ http, post, published, since }) {
      const { message: below } = partsOf(published.id);
      const found = await similarIn(http, below, post, since);
      return found.map((id) => messageAt(guildOf(published.url), below, id));
    },
  },
  async comments({ http, published, cursor }) {
    const { message: below } = partsOf(published.id);
    const query = { after: cursor ?? below, limit: String(PAGE) };
    const found = (await http.find(`/channels/${below}/messages`, Messages, { query })) ?? [];
    const page = found.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp));
    const comments = page
      .filter(({ id, type = 0 }) => id !== below && WRITTEN.includes(type))
      .map((one) => commentOf(guildOf(published.url), below, one));
    return { comments, ...(page.length === PAGE && { next: page.at(-1)!.id }) };
  },

  repost: {
    once: 'read-back',
    async send({ http, account, repost: { published } }) {
      if (guildOf(published.url) !== account)
        throw refused('rejected', 'Discord repeats messages within the own server only');
      await http.post(`${partsOf(published.id).path}/crosspost`, z.unknown(), { creates: true });
      return published;
    },
    async find({ http, repost: { published } }) {
      const { flags = 0 } = await http.get(partsOf(published.id).path, Message);
      return (flags & CROSSPOSTED) === 0 ? undefined : published;
    },
  },

  async metrics({ http, posts }) {
    const found = await Promise.all(posts.map(({ id }) => http.find(partsOf(id).path, Message)));
    return found.flatMap((one, n) => (one ? [{ id: posts[n]!.id, counts: countsOf(one) }] : []));
  },
  async channelMetrics({ http, account, clock }) {
    const query = { with_counts: 'true' };
    const { approximate_member_count: followers } = await http.get(`/guilds/${account}`, Guild, { query });
    return followers == null ? [] : seriesOfNow(clock, { followers });
  },
  async mentions({ http, account, query }) {
    const members = await http.get(`/guilds/${account}/members/search`, Members, { query: { query, limit: '10' } });
    const roles = await http.get(`/guilds/${account}/roles`, Roles);
    const isMeant = (name: string) => name.toLowerCase().includes(query.toLowerCase());
    return [
      ...members.map(({ nick, user: { id, username, avatar } }) => {
        return { id, label: nick || username, ...(avatar && { image: imageOf('avatars', id, avatar) }) };
      }),
      ...roles
        .filter(({ id, name, managed }) => id !== account && !managed && isMeant(name))
        .map(({ id, name }) => ({ id: `&${id}`, label: name })),
    ];
  },
  mention: ({ id }) => (/^&?\d{1,20}$/.test(id) ? `<@${id}>` : undefined),
  tools: {
    channels: {
      description: 'Lists the channels of the server that take posts',
      data: z.object({}),
      call: async ({ http, account }) => {
        const all = await http.get(`/guilds/${account}/channels`, Channels);
        return all.filter(({ type }) => POSTABLE.includes(type)).map(({ id, name }) => ({ id, name }));
      },
    },
  },
});
