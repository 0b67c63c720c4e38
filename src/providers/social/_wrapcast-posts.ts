import { z } from 'zod';
import type { Connection, Operations, Post, Published } from './_contract.ts';
import { publicUrlOf } from './_limits.ts';
import { authorOf, Cast, castAt, castOf } from './_wrapcast-casts.ts';

export const Settings = z.looseObject({
  subreddit: z
    .array(z.object({ value: z.object({ id: z.string().regex(/^[a-z0-9_-]{1,64}$/i) }) }))
    .max(1)
    .optional(),
});
const Made = z.object({ cast: z.object({ hash: z.string(), author: z.object({ fid: z.int() }) }) });
const Casts = z.object({ casts: z.array(Cast) });
const NEWEST = '50';

/** The same for every attempt at a post, in the length that the document recommends. */
const idemOf = (id: string): string => id.replaceAll('-', '').slice(-16);

type Casting = Pick<Connection, 'http' | 'token' | 'values' | 'account'> & { post: Post };
interface Place {
  parent?: { id: string; saved?: unknown } | undefined;
  channel?: string | undefined;
}

async function cast({ http, token, values, post }: Casting, { parent, channel }: Place): Promise<Published> {
  const json = {
    signer_uuid: token,
    text: post.text,
    ...(post.media.length > 0 && { embeds: post.media.map((file) => ({ url: publicUrlOf(file) })) }),
    ...(channel && !parent && { channel_id: channel }),
    ...(parent && { parent: parent.id, parent_author_fid: authorOf(parent) }),
    idem: idemOf(post.id),
  };
  const made = await http.post('/cast/', Made, { json, creates: true });
  return castAt(values['username'] ?? '', made.cast.hash, made.cast.author.fid);
}

/** Own casts since then with the same text and as many files, below the same one. */
async function ownCasts({ http, account, post, since }: Casting & { since: Date }, parent: string | undefined) {
  const { casts } = await http.get('/feed/user/casts/', Casts, { query: { fid: account, limit: NEWEST } });
  return casts
    .filter(
      ({ text, timestamp, parent_hash, embeds }) =>
        timestamp >= since &&
        text === post.text &&
        (parent_hash ?? undefined) === parent &&
        embeds.length >= post.media.length,
    )
    .map(castOf);
}

/** Casts, answers to them, and recasts. */
export const casting = {
  publish: ({ thread, settings, ...call }) =>
    cast(call, { parent: thread.at(-1), channel: settings.subreddit?.[0]?.value.id }),
  find: ({ thread, ...call }) => ownCasts(call, thread.at(-1)?.id),
  remove: ({ http, token, published: { id } }) =>
    http.delete('/cast/', { json: { signer_uuid: token, target_hash: id } }),
  comment: {
    once: 'key',
    replies: true,
    send: ({ published, parent = published, ...call }) => cast(call, { parent }),
    find: ({ published, parent = published, ...call }) => ownCasts(call, parent.id),
  },
  repost: {
    once: 'key',
    async send({ http, token, repost: { id, published } }) {
      const json = {
        signer_uuid: token,
        reaction_type: 'recast',
        target: published.id,
        target_author_fid: authorOf(published),
        idem: idemOf(id),
      };
      await http.post('/reaction/', z.unknown(), { json, creates: true });
      return { id: published.id, url: published.url };
    },
    async find({ http, account, repost: { published } }) {
      const found = await http.find('/cast/', z.object({ cast: Cast }), {
        query: { identifier: published.id, type: 'hash', viewer_fid: account },
      });
      return found?.cast.viewer_context?.recasted ? { id: published.id, url: published.url } : undefined;
    },
  },
} satisfies Operations<typeof Settings>;
