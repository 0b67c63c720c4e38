import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { social } from './_contract.ts';
import { chosenPage } from './_pages.ts';
import { plugsOf } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';
import { ask, Chat, forward, Migrated, partsOf, send } from './_telegram-bot.ts';
import { expectRights, wordLogin } from './_telegram-login.ts';

const PICTURES = ['image/jpeg', 'image/png', 'image/webp', 'image/gif'];
const TYPES = [...PICTURES, 'video/mp4', 'audio/mpeg', 'audio/mp4', 'application/pdf'];
const FILE_BYTES = 50_000_000;
/** Words of refusals after which `profile` looks whether the bot may write in the chat. */
const WITHOUT_RIGHTS =
  /not enough rights|have no rights|need administrator rights|member list is inaccessible|CHAT_WRITE_FORBIDDEN|CHAT_ADMIN_REQUIRED/i;

/** https://core.telegram.org/bots/api */
export default social({
  id: 'telegram',
  version: 'v1',
  status: 'active',
  title: 'Telegram',
  description: 'Posts of a bot in a Telegram channel or group.',
  website: 'https://telegram.org',
  authType: 'api_key',
  setupNotes:
    'Make a bot with @BotFather. Whoever connects a channel or group first makes the bot an administrator there, then sends the offered word to it; the bot must have no webhook. Beside files a text has at most 1,024 characters.',
  credentials: {},
  app: {
    clientId: text('Name of the bot', { validation: '@?\\w{5,32}', placeholder: 'my_bot' }),
    clientSecret: secret('Token of the bot', { validation: '\\d{1,20}:[\\w-]{1,100}' }),
  },
  api: 'https://api.telegram.org',
  errors: { 401: 'rejected', 403: 'reauthorize', 409: 'unavailable' }, // 401: the token of the bot is wrong
  errorOf: z.union([
    Migrated,
    z.object({ description: z.string().regex(WITHOUT_RIGHTS) }).transform(() => 'reauthorize' as const),
  ]),
  login: wordLogin,
  once: 'at-most-once',
  threads: 'reply',
  editor: 'html',
  pace: [
    { per: 'account', posts: 20, ms: 60_000 },
    { per: 'app', posts: 30, ms: 1_000 },
  ],
  limits: {
    text: 4_096,
    unit: 'utf16',
    textWithFiles: 1_024,
    media: 10,
    oneKind: ['image', 'video'], // https://core.telegram.org/bots/api#sendmediagroup
    mediaTypes: TYPES,
    image: { bytes: 10_000_000, ratio: [0.05, 20] },
    video: { bytes: FILE_BYTES },
    document: { bytes: FILE_BYTES },
  },
  releaseIds: {
    form: /^(?<account>-?\d{1,20})\/\d{1,10}$/,
    words: 'the numbers of the chat and of the message, such as -1001/5',
  },
  settings: z.looseObject({}),
  plugs: plugsOf('telegram', ['repost-from']),

  async profile({ values, ...line }) {
    const chat = chosenPage(values, 'chat');
    if (chat === undefined) throw refused('reauthorize', 'No chat was connected');
    const found = await ask(line, 'getChat', Chat, { chat_id: chat });
    await expectRights(line, found); // a public chat is shown to anybody
    const { id, title, username } = found;
    return { id: String(id), name: title ?? username ?? chat, handle: username === undefined ? '' : `@${username}` };
  },
  publish: ({ post, thread, ...line }) => {
    const parent = thread.at(-1);
    return send(line, line.account, post, parent && partsOf(parent).message_ids[0]);
  },
  async remove({ published, ...line }) {
    await ask(line, 'deleteMessages', z.unknown(), partsOf(published)); // skips those that are gone
  },
  comment: {
    once: 'at-most-once',
    replies: true,
    send({ post, published, parent, ...line }) {
      const { chat_id, message_ids } = partsOf(published);
      return send(line, chat_id, post, parent ? partsOf(parent).message_ids[0] : message_ids[0]);
    },
  },
  repost: {
    once: 'at-most-once',
    send: ({ repost, ...line }) => forward(line, line.account, repost.published),
  },
  async channelMetrics({ clock, account, ...line }) {
    const followers = await ask(line, 'getChatMemberCount', z.int(), { chat_id: account });
    return seriesOfNow(clock, { followers });
  },
});
