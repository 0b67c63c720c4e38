import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { newVerifier } from '../kit/protocols/oauth.ts';
import type { Login } from './_contract.ts';
import { ask, Chat } from './_telegram-bot.ts';

const Message = z.object({
  chat: Chat,
  text: z.string().default(''),
  from: z.object({ id: z.int() }).optional(),
  sender_chat: z.object({ id: z.int() }).optional(),
});
const Updates = z.array(z.object({ message: Message.optional(), channel_post: Message.optional() }));
const Member = z.object({ status: z.string(), can_post_messages: z.boolean().optional() });

const WORD_LENGTH = 22;
const CHATS = ['channel', 'group', 'supergroup'];
const ADMINISTRATORS = ['creator', 'administrator'];
/** The newest updates: nobody confirms them, so that each of several logins at a time sees its own. */
const NEWEST = { offset: -100, limit: 100, allowed_updates: ['message', 'channel_post'] };

/**
 * A person makes the bot an administrator of a chat, and sends a word there that only they know. The address offers to
 * send it.
 */
export const wordLogin = {
  kind: 'approval',
  async begin({ app }) {
    const word = newVerifier().slice(0, WORD_LENGTH);
    const url = new URL('https://t.me/share/url');
    url.searchParams.set('url', `https://t.me/${app.clientId.replace(/^@/, '')}`);
    url.searchParams.set('text', `/connect ${word}`);
    return { url: url.href, kept: { word } };
  },
  async poll({ http, app, kept }) {
    const word = kept['word'] ?? '';
    const updates = await ask({ http, app }, 'getUpdates', Updates, NEWEST);
    const said = updates
      .flatMap(({ message, channel_post: inChannel }) => message ?? inChannel ?? [])
      .find(({ chat, text }) => CHATS.includes(chat.type) && word !== '' && text.split(/\s+/).includes(word));
    if (!said) return undefined;
    const { chat, from, sender_chat: asChat } = said;
    const inChannel = chat.type === 'channel';
    // in a channel administrators write, and the bot must be allowed to; in a group everybody writes
    const user_id = inChannel ? Number(app.clientSecret.split(':')[0]) : from?.id;
    const isChat = !inChannel && asChat?.id === chat.id;
    const member = isChat
      ? undefined
      : await ask({ http, app }, 'getChatMember', Member, { chat_id: chat.id, user_id });
    if (member && !(ADMINISTRATORS.includes(member.status) && (!inChannel || member.can_post_messages)))
      throw refused(
        'reauthorize',
        inChannel
          ? 'The bot may not post in this channel: make it an administrator that may'
          : 'Only an administrator can connect a group',
      );
    return { accessToken: word, values: { chat: String(chat.id) } };
  },
} satisfies Login;
