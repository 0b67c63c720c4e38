import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { AsTold, Counts, Published } from './_contract.ts';
import { failureAt } from './_failures.ts';

/** Codes of https://dev.vk.com/reference/errors that do not refuse the content. */
const CODES: Readonly<Record<string, ProviderFailure>> = {
  1: 'unavailable',
  5: 'reauthorize',
  6: 'rate_limited',
  9: 'rate_limited',
  10: 'unavailable',
  27: 'reauthorize',
  28: 'reauthorize',
  29: 'rate_limited',
  36: 'unavailable',
};
/** What is to be deleted is gone. */
const NOT_FOUND = '104';
export const failureInside = failureAt('error.error_code', CODES, { otherwise: 'rejected', none: [NOT_FOUND] });

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
