import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { CommentTold, Operations } from './_contract.ts';
import { fileBytesOf, Message, messageAt, Messages, ownMessage } from './_discord-messages.ts';
import { chosenPage } from './_pages.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';
import { listing } from './_tools.ts';

type Shown = z.output<typeof Message>;
const Guild = z.object({
  id: z.string(),
  name: z.string(),
  icon: z.string().nullish(),
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
const PAGE = 100;

const imageOf = (kind: 'avatars' | 'icons', id: string, hash: string | null | undefined): string | undefined =>
  hash ? `https://cdn.discordapp.com/${kind}/${id}/${hash}.png` : undefined;
const reactionsTo = ({ reactions }: Pick<Shown, 'reactions'>): number =>
  (reactions ?? []).reduce((sum, { count }) => sum + count, 0);

/** The text with the names of the people whom it mentions. */
const textOf = ({ content, mentions }: Shown): string =>
  content.replace(/<@!?(\d+)>/g, (mention, id: string) => {
    const who = mentions.find((one) => one.id === id);
    return who ? `@${who.global_name || who.username}` : mention;
  });

/** A message of a thread as a comment. */
function commentOf(guild: string, thread: string, one: Shown): CommentTold {
  const { id, author, timestamp: createdAt, message_reference: answered } = one;
  const { id: authorId, global_name: name, username, avatar } = author;
  return {
    ...messageAt(guild, thread, id),
    text: textOf(one),
    author: {
      id: authorId,
      name: name || username,
      handle: username,
      picture: imageOf('avatars', authorId, avatar),
    },
    createdAt,
    parentId: answered?.message_id ? `${thread}/${answered.message_id}` : undefined,
    likes: reactionsTo(one),
  };
}

/** The server of the channel, its people, and what they say below a message. */
export const discordReading = {
  async profile({ http, values }) {
    const guild = chosenPage(values, 'guild');
    if (guild === undefined) throw refused('reauthorize', 'No server was chosen');
    const { id, name, icon } = await http.get(`/guilds/${guild}`, Guild);
    return { id, name, handle: name, picture: imageOf('icons', id, icon) };
  },
  async channelLimits(line) {
    const file = { bytes: await fileBytesOf(line) };
    return { image: file, video: file, document: file };
  },
  async comments({ http, account, published, cursor }) {
    const { message: below } = await ownMessage({ http, account }, published);
    const query = { after: cursor ?? below, limit: String(PAGE) };
    const found = (await http.find(`/channels/${below}/messages`, Messages, { query })) ?? [];
    const page = found.toSorted((a, b) => Number(a.timestamp) - Number(b.timestamp));
    const comments = page
      .filter(({ id, type = 0 }) => id !== below && WRITTEN.includes(type))
      .map((one) => commentOf(account, below, one));
    return { comments, next: page.length === PAGE ? page.at(-1)!.id : undefined };
  },
  metrics: ({ posts, ...line }) =>
    countsOfEach(posts, async (post) => {
      const one = await line.http.find((await ownMessage(line, post)).path, Message);
      return one && { reactions: reactionsTo(one), comments: one.thread?.message_count };
    }),
  async channelMetrics({ http, account, clock }) {
    const query = { with_counts: 'true' };
    const { approximate_member_count: followers } = await http.get(`/guilds/${account}`, Guild, { query });
    return seriesOfNow(clock, { followers });
  },
  async mentions({ http, account, query }) {
    const members = await http.get(`/guilds/${account}/members/search`, Members, { query: { query, limit: '10' } });
    const roles = await http.get(`/guilds/${account}/roles`, Roles);
    const isMeant = (name: string) => name.toLowerCase().includes(query.toLowerCase());
    return [
      ...members.map(({ nick, user: { id, username, avatar } }) => {
        return { id, label: nick || username, image: imageOf('avatars', id, avatar) };
      }),
      ...roles
        .filter(({ id, name, managed }) => id !== account && !managed && isMeant(name))
        .map(({ id, name }) => ({ id: `&${id}`, label: name })),
    ];
  },
  mention: ({ id }) => (/^&?\d{1,20}$/.test(id) ? `<@${id}>` : undefined),
  tools: {
    channels: listing('Lists the channels of the server that take posts', async ({ http, account }) => {
      const all = await http.get(`/guilds/${account}/channels`, Channels);
      return all.filter(({ type }) => POSTABLE.includes(type)).map(({ id, name }) => ({ id, name }));
    }),
  },
} satisfies Operations;
