import { z } from 'zod';
import type { CommentTold, Published } from './_contract.ts';

/** The 20 bytes of the hash of a cast. */
export const CAST_HASH = /^0x[\da-f]{40}$/i;
const Author = z.object({
  fid: z.int(),
  username: z.string(),
  display_name: z.string().nullish(),
  pfp_url: z.string().nullish(),
});
export const Users = z.object({ users: z.array(Author.extend({ follower_count: z.int().optional() })) });
export const FoundUsers = z.object({ result: z.object({ users: z.array(Author) }) });
export const Cast = z.object({
  hash: z.string(),
  text: z.string(),
  timestamp: z.coerce.date(),
  author: Author,
  parent_hash: z.string().nullish(),
  embeds: z.array(z.unknown()).default([]),
  reactions: z.object({ likes_count: z.int(), recasts_count: z.int() }),
  replies: z.object({ count: z.int() }),
  viewer_context: z.object({ recasted: z.boolean() }).optional(),
});
type Cast = z.output<typeof Cast>;
interface Replied extends Cast {
  direct_replies: Replied[];
}
const Replied: z.ZodType<Replied> = z.lazy(() => Cast.extend({ direct_replies: z.array(Replied).default([]) }));
export const Conversation = z.object({
  conversation: z.object({ cast: Replied }),
  next: z.object({ cursor: z.string().nullish() }).nullish(),
});

/** The author of a cast, which an answer to it names. */
const Saved = z.object({ fid: z.int() }).optional().catch(undefined);
export const authorOf = ({ saved }: { saved?: unknown }): number | undefined => Saved.parse(saved)?.fid;
export const castAt = (username: string, hash: string, fid: number): Published => ({
  id: hash,
  url: `https://farcaster.xyz/${encodeURIComponent(username)}/${hash.slice(0, 10)}`,
  saved: { fid },
});
export const castOf = ({ hash, author }: Cast): Published => castAt(author.username, hash, author.fid);

/** The answers to a cast and theirs, in the order of the conversation. */
export const repliesOf = (replies: readonly Replied[], root: string): CommentTold[] =>
  replies.flatMap((cast) => [
    {
      ...castOf(cast),
      text: cast.text,
      author: {
        id: String(cast.author.fid),
        name: cast.author.display_name || cast.author.username,
        handle: cast.author.username,
        picture: cast.author.pfp_url || undefined,
      },
      createdAt: cast.timestamp,
      parentId: cast.parent_hash === root ? undefined : cast.parent_hash,
      likes: cast.reactions.likes_count,
    },
    ...repliesOf(cast.direct_replies, root),
  ]);
