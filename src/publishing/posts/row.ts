import { z } from 'zod';
import { column, type RowOf, table } from '../../platform/db/index.ts';
import { Recurrence } from './recurrence.ts';

const { uuid, uuids, text, int, instant, oneOf, json, nullable, named } = column;

/**
 * A picture or video of a post, as it is stored: `id` names a file of the org, else `path` is an address outside;
 * `thumbnailTimestamp` the moment of a video whose frame is its cover, in ms.
 */
export const PostMedia = z.strictObject({
  id: z.string().optional(),
  path: z.string(),
  alt: z.string().default(''),
  thumbnail: z.string().nullish(),
  thumbnailTimestamp: z.int().optional(),
});
export type PostMedia = z.output<typeof PostMedia>;

/**
 * What the adapter noted, and when it did so first. `ahead`: it was noted at that time before the publish date, for
 * this attempt, and no attempt has counted it or noted anything since.
 */
const Saved = z.object({
  value: z.unknown(),
  since: z.string().optional(),
  ahead: z.object({ attempt: z.int(), at: z.string(), isReady: z.boolean() }).optional(),
});

/**
 * The columns of `posts`, each with its uses: `create` is given by who creates a post, `edit` and `thread` by who
 * changes it (of the item, or of its whole thread), `item` by who replaces the items behind a root; `claim` is read for
 * an attempt, `read` for the APIs, `list` for lists that tell less, `fact` for the journal.
 */
export const post = table({
  id: uuid('create', 'item', 'read', 'list', 'fact'),
  orgId: uuid('read', 'fact'),
  channelId: uuid('create', 'read', 'list', 'fact'),
  group: named('group_id', text('create', 'thread', 'read', 'list', 'fact')),
  parentPostId: nullable(uuid('create', 'item', 'read')),
  rootPostId: nullable(uuid('create', 'read', 'fact')),
  state: oneOf('QUEUE', 'PUBLISHED', 'ERROR', 'DRAFT')('read', 'list', 'fact'),
  detail: nullable(text('read', 'list', 'fact')),
  errorKind: nullable(text('read', 'fact')),
  error: nullable(text('read', 'fact')),
  content: text('create', 'edit', 'item', 'claim', 'read', 'list', 'fact'),
  media: json(z.array(PostMedia))('create', 'edit', 'item', 'claim', 'read'),
  settings: json(z.record(z.string(), z.unknown()))('create', 'claim', 'read', 'list'),
  title: nullable(text('create', 'edit', 'read')),
  description: nullable(text('create', 'edit', 'read')),
  delayMinutes: int('create', 'item', 'read'),
  publishDate: instant('thread', 'claim', 'read', 'list', 'fact'),
  dueAt: nullable(instant('fact')),
  tagIds: uuids('create', 'thread'),
  createdBy: nullable(uuid('fact')),
  creationMethod: oneOf('UNKNOWN', 'WEB', 'MCP', 'API', 'AUTOPOST', 'CLI')('create', 'read', 'list'),
  attempt: int('claim', 'fact'),
  attemptsFailed: int('claim', 'fact'),
  claimedAt: instant('claim'),
  saved: nullable(json(Saved)('claim')),
  releaseId: nullable(text('read', 'list')),
  releaseUrl: nullable(text('read', 'list', 'fact')),
  approvalState: nullable(oneOf('awaiting', 'approved', 'rejected')('read')),
  approvalBy: nullable(uuid('read')),
  approvalAt: nullable(instant('read')),
  recurrence: nullable(json(Recurrence)('create', 'edit', 'read', 'list')),
  repeatedAt: nullable(instant('read', 'list')),
  version: int('read', 'list'),
  publishedAt: nullable(instant('read')),
  createdAt: instant('read'),
  updatedAt: instant('read', 'list'),
  deletedAt: nullable(instant('read', 'fact')),
});
export type ClaimColumns = RowOf<typeof post, 'claim'>;
export type ReadColumns = RowOf<typeof post, 'read'>;
export type ListColumns = RowOf<typeof post, 'list'>;

/** Why the items behind a post that was given up are given up with it. */
export const PARENT_FAILED = 'The item of the thread before it was not published';
