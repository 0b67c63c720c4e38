import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { CommentPage, CommentRead, Counts, Published } from './_contract.ts';

/** Codes of https://dev.vk.com/reference/errors that do not refuse the content. */
const CODES: Readonly<Record<number, ProviderFailure>> = {
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
const NOT_FOUND = 104;
export const failureInside = z
  .object({ error: z.object({ error_code: z.int().refine((code) => code !== NOT_FOUND) }) })
  .transform(({ error }): ProviderFailure => CODES[error.error_code] ?? 'rejected');

/** Ids are numbers of an owner, which is negative where a community is the owner. */
export const answered = <S extends z.ZodType>(response: S) => z.object({ response });
const seconds = z.int().transform((value) => new Date(value * 1_000));
const Count = z.object({ count: z.number() }).optional();

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
export const postAt = (owner: string | number, id: number): Published => ({
  id: `${owner}_${id}`,
  url: `https://vk.com/wall${owner}_${id}`,
});
export const countsOf = ({ likes, reposts, comments, views }: z.output<typeof WallPost>): Counts => ({
  ...(likes && { likes: likes.count }),
  ...(reposts && { reposts: reposts.count }),
  ...(comments && { comments: comments.count }),
  ...(views && { views: views.count }),
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

const Reply = z.object({
  id: z.int(),
  from_id: z.int(),
  date: seconds,
  text: z.string(),
  likes: Count,
  reply_to_comment: z.int().optional(),
  deleted: z.boolean().optional(),
});
const Comment = Reply.extend({ thread: z.object({ items: z.array(Reply).default([]) }).optional() });
export const Comments = z.object({
  count: z.int(),
  items: z.array(Comment),
  profiles: z
    .array(
      z.object({
        id: z.int(),
        first_name: z.string(),
        last_name: z.string(),
        screen_name: z.string().optional(),
        photo_50: z.url().optional(),
      }),
    )
    .default([]),
  groups: z
    .array(
      z.object({ id: z.int(), name: z.string(), screen_name: z.string().optional(), photo_50: z.url().optional() }),
    )
    .default([]),
});

/** A page of comments with the first answers to each; `offset` counts those without a parent. */
export function pageOf(
  published: string,
  { count, items, profiles, groups }: z.output<typeof Comments>,
  offset: number,
): CommentPage {
  const authors = new Map<number, CommentRead['author']>([
    ...profiles.map(({ id, first_name, last_name, screen_name: handle, photo_50: picture }) => {
      const author = { id: String(id), name: `${first_name} ${last_name}`, handle, picture };
      return [id, author] as const;
    }),
    ...groups.map(({ id, name, screen_name: handle, photo_50: picture }) => {
      return [-id, { id: String(-id), name, handle, picture }] as const;
    }),
  ]);
  const read = (one: z.output<typeof Reply>, parent?: number): CommentRead[] =>
    one.deleted
      ? []
      : [
          {
            ...commentAt(published, one.id),
            text: one.text,
            author: authors.get(one.from_id) ?? { id: String(one.from_id), name: '' },
            createdAt: one.date,
            ...(parent !== undefined && { parentId: commentAt(published, one.reply_to_comment ?? parent).id }),
            ...(one.likes && { likes: one.likes.count }),
          },
        ];
  const next = offset + items.length;
  return {
    comments: items.flatMap((one) => [
      ...read(one),
      ...(one.thread?.items ?? []).flatMap((answer) => read(answer, one.id)),
    ]),
    ...(items.length > 0 && next < count && { next: String(next) }),
  };
}
