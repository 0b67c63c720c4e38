import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Operations } from './_contract.ts';
import {
  chosenChannel,
  guildOf,
  Message,
  messageAt,
  openForumPost,
  partsOf,
  sendMessage,
  similarIn,
  similarInForum,
  threadBelow,
} from './_discord-messages.ts';

const CROSSPOSTED = 1;
export const Settings = z.looseObject({ channel: z.string().regex(/^\d{1,20}$/) });

/** Messages of a channel, posts of a forum, and answers in the thread below them. */
export const discordPosts = {
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
      return messageAt(guildOf(published, line.account), below, await sendMessage(line, below, post, answered));
    },
    async find({ http, account, post, published, since }) {
      const { message: below } = partsOf(published.id);
      const found = await similarIn(http, below, post, since);
      return found.map((id) => messageAt(guildOf(published, account), below, id));
    },
  },
  repost: {
    once: 'read-back',
    async send({ http, account, repost: { published } }) {
      if (guildOf(published, account) !== account)
        throw refused('rejected', 'Discord repeats messages within the own server only');
      await http.post(`${partsOf(published.id).path}/crosspost`, z.unknown(), { creates: true });
      return published;
    },
    async find({ http, repost: { published } }) {
      const { flags = 0 } = await http.get(partsOf(published.id).path, Message);
      return (flags & CROSSPOSTED) === 0 ? undefined : published;
    },
  },
} satisfies Operations<typeof Settings>;
