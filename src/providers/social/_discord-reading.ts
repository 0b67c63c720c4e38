import type { z } from 'zod';
import type { CommentRead } from './_contract.ts';
import { type Message, messageAt } from './_discord-messages.ts';

type Shown = z.output<typeof Message>;

export const imageOf = (kind: 'avatars' | 'icons', id: string, hash: string): string =>
  `https://cdn.discordapp.com/${kind}/${id}/${hash}.png`;
/** The server that the address of a message names. */
export const guildOf = (url: string): string => url.split('/')[4] ?? '';

export const countsOf = ({ reactions, thread }: Pick<Shown, 'reactions' | 'thread'>) => ({
  reactions: (reactions ?? []).reduce((sum, { count }) => sum + count, 0),
  ...(thread && { comments: thread.message_count }),
});

/** A message of a thread as a comment. */
export function commentOf(guild: string, thread: string, one: Shown): CommentRead {
  const { id, author, content: text, timestamp: createdAt, message_reference: answered } = one;
  const { global_name: name, username, avatar } = author;
  return {
    ...messageAt(guild, thread, id),
    text,
    author: {
      id: author.id,
      name: name || username,
      handle: username,
      ...(avatar && { picture: imageOf('avatars', author.id, avatar) }),
    },
    createdAt,
    ...(answered?.message_id && { parentId: `${thread}/${answered.message_id}` }),
    likes: countsOf(one).reactions,
  };
}
