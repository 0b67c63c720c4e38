import { secret } from '../kit/declare/fields.ts';
import { clientApp } from '../kit/protocols/oauth.ts';
import { social } from './_contract.ts';
import { FILE_BYTES, IMAGE_TYPES, MESSAGE } from './_discord-messages.ts';
import { discordPosts, Settings } from './_discord-posts.ts';
import { discordReading } from './_discord-reading.ts';
import { failureAt } from './_failures.ts';
import { plugsOf } from './_plugs.ts';

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
  // a server that removed the bot, or a channel that is closed to it, which `profile` tells apart
  errorOf: failureAt('code', { 10_004: 'reauthorize', 50_001: 'reauthorize', 20_028: 'rate_limited' }),
  login: {
    kind: 'oauth2',
    authorize: 'https://discord.com/oauth2/authorize',
    token: 'https://discord.com/api/oauth2/token',
    scopes: ['bot', 'identify', 'guilds'],
    secretIn: 'header',
    asks: { permissions: String(PERMISSIONS), integration_type: '0' },
    keeps: { answer: { guild: 'guild.id' } },
    renewal: 'needless', // every call takes the token of the bot
  },
  once: 'key',
  settlesWithinMs: 70_000, // a post of a forum takes no nonce: no second one while the first may still arrive
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
  releaseIds: { form: MESSAGE, words: 'the numbers of the channel and of the message, such as 1102/1103' },
  settings: Settings,
  plugs: plugsOf('discord', ['auto-repost', 'auto-comment', 'comment-from']),
  ...discordPosts,
  ...discordReading,
});
