import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Operations } from './_contract.ts';
import {
  chosenChannel,
  Message,
  messageAt,
  openForumPost,
  ownMessage,
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
    const { account } = line;
    if (root) {
      const below = await threadBelow(line, root, post);
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
    const place = root ? (await ownMessage(line, root)).message : channel;
    return (await similarIn(http, place, post, since)).map((id) => messageAt(account, place, id));
  },
  remove: async ({ published, ...line }) => line.http.delete((await ownMessage(line, published)).path),

  comment: {
    once: 'key',
    replies: true,
    async send({ http, post, published, parent, ...call }) {
      const { account = call.account } = published; // of the post: a channel of another server may comment on it
      const line = { http, account };
      const below = await threadBelow(line, published, post);
      const answered = parent && partsOf(parent.id).message;
      return messageAt(account, below, await sendMessage(line, below, post, answered));
    },
    async find({ http, post, published, since, ...call }) {
      const { account = call.account } = published;
      const { message: below } = await ownMessage({ http, account }, published);
      return (await similarIn(http, below, post, since)).map((id) => messageAt(account, below, id));
    },
  },
  repost: {
    once: 'read-back',
    async send({ repost: { published }, ...line }) {
      if ((published.account ?? line.account) !== line.account)
        throw refused('rejected', 'Discord repeats messages within the own server only');
      const { path } = await ownMessage(line, published);
      await line.http.post(`${path}/crosspost`, z.unknown(), { creates: true });
      return published;
    },
    async find({ repost: { published }, ...line }) {
      const { path } = await ownMessage(line, published);
      const { flags = 0 } = await line.http.get(path, Message);
      return (flags & CROSSPOSTED) === 0 ? undefined : published;
    },
  },
} satisfies Operations<typeof Settings>;
