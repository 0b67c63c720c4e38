import { z } from 'zod';
import type { PostQuota } from '../../../entitlements/index.ts';
import type { AppError } from '../../../platform/kernel/index.ts';
import { post } from '../row.ts';

/**
 * One item to be stored. The first of a thread is its root; ids are made by the caller, so a repeated call inserts
 * nothing twice.
 */
export const NewPost = z.strictObject({
  ...post.shape('create'),
  state: z.enum(['QUEUE', 'DRAFT']),
  /** `null`: at once, by the database's clock. */
  publishDate: z.coerce.date().nullable(),
  /** Its links go out short. */
  shortLinks: z.boolean().optional(),
});
export type NewPost = z.output<typeof NewPost>;

/** Who makes or changes a post. */
export const PostAuthor = z.strictObject({
  userId: z.string(),
  /** Under `approvalRequired: "members"` nobody is asked about their posts. */
  schedulesFreely: z.boolean(),
  /** The name of the program that acts for the user, as an agent. */
  agent: z.string().optional(),
});
export type PostAuthor = z.output<typeof PostAuthor>;

/**
 * What an edit may change: of the item, or, with the columns of the use `thread` and the status, of its whole thread.
 */
export const PostChange = z
  .strictObject({ ...post.shape('edit'), ...post.shape('thread') })
  .partial()
  .extend({
    /** Refuses a change that was made on something older (If-Match). */
    version: z.int().optional(),
    /** `merge` keeps the keys that are not named. */
    settings: z.strictObject({ values: z.record(z.string(), z.unknown()), merge: z.boolean() }).optional(),
    /** Where it is not said, what needs approval is held. */
    by: PostAuthor.optional(),
    /** It was not held against the limits of the network: the post was not queued then, nor to be approved. */
    unjudged: z.boolean().optional(),
    /** `schedule` queues it, `draft` takes it out of the queue. */
    status: z.enum(['schedule', 'draft']).optional(),
    /** The tag of the campaign that takes the place of those among the tags, where these stay; null: of none. */
    campaignTag: z.string().nullable().optional(),
    /** Whether links of the thread go out short; absent: as it was decided before. */
    shortLinks: z.boolean().optional(),
    /** Items after the root, whole: replaces what was there. */
    thread: z.array(z.strictObject(post.shape('item')).omit({ parentPostId: true })).optional(),
  });
export type PostChange = z.output<typeof PostChange>;

/**
 * One request body, whole: all its posts and all its edits, or nothing of it. `reply` is stored with the idempotency
 * key in the same commit.
 */
export const Create = z.strictObject({
  posts: z.array(NewPost),
  edits: z.array(z.strictObject({ postId: z.string(), change: PostChange })).optional(),
  /** Null: whoever made the post before it in its series is gone. */
  createdBy: z.string().nullable(),
  /** The key or approval of a program that may create only so many posts a day. */
  programId: z.string().optional(),
  /** As of a `PostAuthor`; where it is not said, posts are held. */
  schedulesFreely: z.boolean().optional(),
  /** The approval that its thread has already: that of the post before it in its series, whose content it has. */
  approval: z.strictObject({ by: z.string().nullable(), at: z.coerce.date(), hash: z.string() }).optional(),
  idempotency: z
    .strictObject({ scope: z.string(), key: z.string(), claim: z.string(), status: z.int(), reply: z.string() })
    .optional(),
});
export type Create = z.output<typeof Create>;

/** What became of the posts of a plan that was taken back, by the first items of their threads. */
export const UndonePlan = z.strictObject({
  deleted: z.int(),
  kept: z.array(z.strictObject({ postId: z.string(), reason: z.enum(['published', 'in_flight', 'changed']) })),
});
export type UndonePlan = z.output<typeof UndonePlan>;

/** A create, and the organization that it is of. */
export interface PostAdmission {
  orgId: string;
  create: Create;
  /** With billing: what the Organization let the create in by. */
  quota?: PostQuota | undefined;
  /** The plan has no room for it: it is held for approval when there is some, and not before. */
  waitsForRoom?: boolean;
}
/**
 * What became of a create: stored, refused, or `stale`: the rows no longer say what its quota says, and nothing of it
 * was stored.
 */
export interface Admitted {
  refused?: AppError | undefined;
  stale?: boolean;
  /** With a quota: the org's posts of the billing month after this commit. */
  used?: number | undefined;
}
