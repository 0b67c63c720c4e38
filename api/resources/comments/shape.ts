import { z } from 'zod';
import type { CommentRow } from '../../../src/publishing/comments/index.ts';
import { instant } from '../../http/fields.ts';

/** A comment below a post (S186). `isOwn`, `done` and `reply` are additions. */
export const Comment = z.strictObject({
  id: z.string(),
  postId: z.string(),
  integrationId: z.string(),
  externalId: z.string().nullable(),
  parentId: z.string().nullable(),
  content: z.string(),
  authorName: z.string(),
  authorPicture: z.string().nullable(),
  createdAt: instant,
  repliedAt: instant.nullable(),
  hidden: z.boolean(),
  done: z.boolean(),
  isOwn: z.boolean(),
  reply: z
    .strictObject({ state: z.enum(['pending', 'posted', 'failed']), error: z.string().nullable() })
    .nullable()
    .meta({ description: 'Of a reply that was written here: what became of it.' }),
});

export const presentComment = (row: CommentRow): z.input<typeof Comment> => ({
  id: row.id,
  postId: row.postId,
  integrationId: row.channelId,
  externalId: row.externalId,
  parentId: row.parentId,
  content: row.content,
  authorName: row.authorName,
  authorPicture: row.authorPicture,
  createdAt: row.createdAt.toISOString(),
  repliedAt: row.repliedAt?.toISOString() ?? null,
  hidden: row.hidden,
  done: row.done,
  isOwn: row.isOwn,
  reply: row.reply && { state: row.reply.state, error: row.reply.error },
});
