import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { QUOTA_MS } from '../kit/declare/waits.ts';
import type { AsTold, Counts, Published } from './_contract.ts';
import { failureAt } from './_failures.ts';

/**
 * Codes of https://dev.vk.com/reference/errors that do not refuse the content. After a fault inside VK (1, 10) and a
 * method that it broke off (36) a part may have been done.
 */
const CODES: Readonly<Record<string, ProviderFailure>> = {
  1: 'lost',
  5: 'reauthorize',
  6: 'rate_limited',
  9: 'rate_limited',
  10: 'lost',
  27: 'reauthorize',
  28: 'reauthorize',
  29: 'rate_limited',
  36: 'lost',
};
/** What is to be deleted is gone. */
const NOT_FOUND = '104';
/** The code of a wall that takes no posts is also that of the posts of a day, which only its words tell apart. */
const PostsOfDay = z.object({ error: z.object({ error_code: z.literal(214), error_msg: z.string().regex(/a day/i) }) });
export const postsOfDay = PostsOfDay.transform(() => ({ againMs: QUOTA_MS }));
export const failureInside = z.union([
  PostsOfDay.transform((): ProviderFailure => 'rate_limited'),
  failureAt('error.error_code', CODES, { otherwise: 'rejected', none: [NOT_FOUND] }),
]);

/** Walls and comments come with every size of every picture: ten pictures of a post are some 50 kB. */
export const ANSWER_BYTES = 8 * 1024 * 1024;

/** Ids are numbers of an owner, which is negative where a community is the owner. */
export const answered = <S extends z.ZodType>(response: S) => z.object({ response });
export const seconds = z.int().transform((value) => new Date(value * 1_000));
export const Count = z.object({ count: z.number() }).optional();

export const WallPost = z.object({
  id: z.int(),
  owner_id: z.int(),
  date: seconds,
  text: z.string().default(''),
  attachments: z.array(z.unknown()).default([]),
  copy_history: z.array(z.object({ id: z.int(), owner_id: z.int() })).default([]),
  likes: Count,
  reposts: Count,
  comments: Count,
  views: Count,
});
/** Since 5.139 below `items`. */
export const WallPosts = z.union([
  z.array(WallPost),
  z.object({ items: z.array(WallPost) }).transform(({ items }) => items),
]);
export const postAt = (owner: string | number, id: number): Published => ({
  id: `${owner}_${id}`,
  url: `https://vk.com/wall${owner}_${id}`,
});
export const countsOf = ({ likes, reposts, comments, views }: z.output<typeof WallPost>): AsTold<Counts> => ({
  likes: likes?.count,
  reposts: reposts?.count,
  comments: comments?.count,
  views: views?.count,
});

/** The owner, the post and, of a comment, the comment in an id of ours. */
export const partsOf = (id: string) => {
  const [owner = '', post = '', comment] = id.split('_');
  return { owner, post, comment };
};
export const commentAt = (published: string, id: number): Published => ({
  id: `${published}_${id}`,
  url: `https://vk.com/wall${published}?reply=${id}`,
});
