import { z } from 'zod';
import { PostMedia } from '../row.ts';

/** One item to be stored. The first of a thread is its root; ids are made by the caller, so a repeated call inserts nothing twice. */
export const NewPost = z.strictObject({
  id: z.string(),
  channelId: z.string(),
  group: z.string(),
  parentId: z.string().optional(),
  rootId: z.string().optional(),
  state: z.enum(['QUEUE', 'DRAFT']),
  content: z.string(),
  media: z.array(PostMedia),
  settings: z.record(z.string(), z.unknown()),
  title: z.string().optional(),
  description: z.string().optional(),
  delayMinutes: z.int().min(0),
  /** `null`: at once, by the database's clock. */
  publishDate: z.coerce.date().nullable(),
  tagIds: z.array(z.string()),
  /** Its links go out short. */
  shortLinks: z.boolean().optional(),
  creationMethod: z.enum(['UNKNOWN', 'WEB', 'MCP', 'API', 'AUTOPOST', 'CLI']),
});
export type NewPost = z.output<typeof NewPost>;

/** One create, whole: every post of it or none. `reply` is stored with the idempotency key in the same commit. */
export const Create = z.strictObject({
  posts: z.array(NewPost).min(1),
  createdBy: z.string(),
  idempotency: z.strictObject({ scope: z.string(), key: z.string(), claim: z.string(), status: z.int(), reply: z.string() }).optional(),
});
export type Create = z.output<typeof Create>;

/** What an edit may change; `version` refuses a change that was made on something older (If-Match). */
export const PostChange = z.strictObject({
  version: z.int().optional(),
  content: z.string().optional(),
  media: z.array(PostMedia).optional(),
  /** `merge` keeps the keys that are not named. */
  settings: z.strictObject({ values: z.record(z.string(), z.unknown()), merge: z.boolean() }).optional(),
  publishDate: z.coerce.date().optional(),
  /** `schedule` queues it, `draft` takes it out of the queue. */
  status: z.enum(['schedule', 'draft']).optional(),
  tagIds: z.array(z.string()).optional(),
  /** Whether links of the thread go out short; absent: as it was decided before. */
  shortLinks: z.boolean().optional(),
  group: z.string().optional(),
  title: z.string().nullable().optional(),
  description: z.string().nullable().optional(),
  /** Items after the root, whole: replaces what was there. */
  thread: z.array(z.strictObject({ id: z.string(), content: z.string(), media: z.array(PostMedia), delayMinutes: z.int().min(0) })).optional(),
});
export type PostChange = z.output<typeof PostChange>;
