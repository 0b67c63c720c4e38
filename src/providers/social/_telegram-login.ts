import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { newVerifier } from '../kit/protocols/oauth.ts';
import type { Login } from './_contract.ts';
import { ask, type BotLine, Chat } from './_telegram-bot.ts';

const Message = z.object({
  chat: Chat,
  text: z.string().default(''),
  from: z.object({ id: z.int() }).optional(),
  sender_chat: z.object({ id: z.int() }).optional(),
});
const Updates = z.array(z.object({ message: Message.optional(), channel_post: Message.optional() }));
const Member = z.object({
  status: z.string(),
  can_post_messages: z.boolean().optional(),
  can_send_messages: z.boolean().optional(),
});
type Member = z.output<typeof Member>;

const WORD_LENGTH = 22;
const CHATS = ['channel', 'group', 'supergroup'];
const isAdministrator = ({ status }: Member): boolean => status === 'creator' || status === 'administrator';
/** In a channel administrators write, in a group everybody who is not restricted. */
const mayWrite = (type: string, member: Member): boolean => {
  if (type === 'channel') return isAdministrator(member) && member.can_post_messages === true;
  return isAdministrator(member) || member.status === 'member' || member.can_send_messages === true;
};
/** The newest updates: nobody confirms them, so that each of several logins at a time sees its own. */
const NEWEST = { offset: -100, limit: 100, allowed_updates: ['message', 'channel_post'] };

const memberOf = (line: BotLine, chat_id: number, user_id: number | undefined): Promise<Member> =>
  ask(line, 'getChatMember', Member, { chat_id, user_id });
/** Refuses a chat in which the bot may not write; its id stands at the beginning of its token. */
export async function expectRights(line: BotLine, { id, type }: z.output<typeof Chat>): Promise<void> {
  const bot = await memberOf(line, id, Number(line.app?.clientSecret.split(':')[0]));
  if (mayWrite(type, bot)) return;
  const remedy = type === 'channel' ? 'make it an administrator that may post messages' : 'let it send messages';
  throw refused('reauthorize', `The bot may not write in this ${type}: ${remedy}`);
}

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
    // in a channel administrators alone can have said it, in a group also those who write in its name
    if (chat.type === 'channel') await expectRights({ http, app }, chat);
    else if (asChat?.id !== chat.id && !isAdministrator(await memberOf({ http, app }, chat.id, from?.id)))
      throw refused('reauthorize', 'Only an administrator can connect a group');
    return { accessToken: word, values: { chat: String(chat.id) } };
  },
} satisfies Login;
