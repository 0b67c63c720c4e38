import { z } from 'zod';
import type { Operations } from './_contract.ts';
import { allPages } from './_lists.ts';
import { Done, Messages, partsOf, Reactions } from './_slack-messages.ts';
import { mentionedIn, namesOf, peopleLike, personOf, readableText } from './_slack-people.ts';
import { countsOfEach } from './_told.ts';
import { listing } from './_tools.ts';

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
const MOST_PAGES = 10;
/** Messages in a page of comments, and people mentioned in it whose names are asked for. */
const PAGE = 15;
const total = (reactions: z.output<typeof Reactions>) => reactions.reduce((sum, { count }) => sum + count, 0);

/** The workspace, its channels and people, and what they say below a message. */
export const slackReading = {
  async profile({ http }) {
    const { team: name, team_id: id, user, user_id } = await http.get('/auth.test', Team);
    return { id, name, handle: `@${user}`, picture: (await personOf(http, user_id))?.profile.image_192 };
  },
  commentReads: { scarce: true }, // apps outside of the marketplace: one call in a minute, 15 messages
  async comments({ http, published, cursor }) {
    const { channel, ts } = partsOf(published.id);
    const query = { channel, ts, limit: String(PAGE), cursor };
    const { messages, response_metadata: more } = await http.get('/conversations.replies', Messages, { query });
    const below = messages.filter((one) => one.ts !== ts);
    const mentioned = below.flatMap(({ text }) => mentionedIn(text)).slice(0, PAGE);
    const names = await namesOf(http, [...below.flatMap(({ user }) => user ?? []), ...mentioned]);
    const comments = below.map(({ ts: id, text, user = '', username, reactions }) => ({
      id: `${channel}/${id}`,
      text: readableText(text, names),
      author: { id: user, name: names.get(user) ?? username ?? user },
      createdAt: new Date(Math.floor(Number(id) * 1_000)),
      likes: total(reactions),
    }));
    return { comments, next: more?.next_cursor };
  },
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const { channel, ts: timestamp } = partsOf(id);
      const { message } = await http.get('/reactions.get', Reacted, { query: { channel, timestamp, full: 'true' } });
      return message && { reactions: total(message.reactions), comments: message.reply_count };
    }),
  mentions: ({ http, query }) => peopleLike(http, query),
  mention: ({ id }) => (/^[UW][A-Z0-9]{1,20}$/.test(id) ? `<@${id}>` : undefined),
  tools: {
    channels: listing('Lists the channels of the workspace, private ones where the app is a member', ({ http }) =>
      allPages(MOST_PAGES, async (cursor) => {
        const query = { types: 'public_channel,private_channel', exclude_archived: 'true', limit: '200', cursor };
        const { channels: items, response_metadata: more } = await http.get('/conversations.list', Channels, { query });
        return { items, next: more?.next_cursor };
      }),
    ),
  },
} satisfies Operations;
