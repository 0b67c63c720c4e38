import { z } from 'zod';
import type { Operations } from './_contract.ts';
import { addressOf } from './_shared.ts';
import {
  addresses,
  Done,
  join,
  ownMessage,
  partsOf,
  sendText,
  sharedMessage,
  shareFiles,
  uploadNext,
} from './_slack-messages.ts';

const SHARE_MS = 2_000;
export const Settings = z.looseObject({ channel: z.string().regex(/^[CG][A-Z0-9]{1,20}$/) });

/** Messages, and answers in their threads. Slack writes a message with files some time after it was asked to. */
export const slackPosts = {
  prepare: ({ post: { media }, saved, save, ...line }) => uploadNext(line, { media, saved, save }),
  async publish({ http, post, settings: { channel }, thread: [root], saved }) {
    const place = root ? partsOf(root.id) : { channel, ts: undefined };
    const at = await addresses(http);
    if (!root) await join(http, channel);
    if (post.media.length === 0) return at(place.channel, await sendText(http, place.channel, post, place.ts));
    await shareFiles(http, place.channel, post, { saved, thread_ts: place.ts });
    return { processingMs: SHARE_MS };
  },
  poll: async ({ http, saved }) => (await sharedMessage(http, saved)) ?? { processingMs: SHARE_MS },
  processesWithinMs: 3_600_000,
  async find({ http, post, settings: { channel }, thread: [root], saved, since }) {
    if (post.media.length > 0) return sharedMessage(http, saved);
    return ownMessage(http, { channel, ts: undefined, ...(root && partsOf(root.id)), post, since });
  },
  async remove({ http, published }) {
    await http.post('/chat.delete', Done, { json: partsOf(published.id) });
  },
  comment: {
    once: 'read-back',
    async send({ http, post, published }) {
      const { channel, ts } = partsOf(published.id);
      const at = await addresses(http);
      return at(channel, await sendText(http, channel, post, ts));
    },
    find: ({ http, post, published, since }) => ownMessage(http, { ...partsOf(published.id), post, since }),
  },
  /** Slack shows the message below the link to it. */
  repost: {
    once: 'read-back',
    async send({ http, repost: { id, published, fields } }) {
      const channel = fields?.['channel'] ?? '';
      const text = addressOf(published);
      const at = await addresses(http);
      await join(http, channel);
      return at(channel, await sendText(http, channel, { id, text }));
    },
    find: ({ http, repost: { id, fields }, since }) =>
      ownMessage(http, { channel: fields?.['channel'] ?? '', ts: undefined, post: { id }, since }),
  },
} satisfies Operations<typeof Settings>;
