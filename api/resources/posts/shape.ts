import { z } from 'zod';
import {
  asDate,
  type BriefPost,
  type PostRow,
  readDate,
  type TimelineRow,
} from '../../../src/publishing/posts/index.ts';
import type { CountedLink } from '../../../src/publishing/shortlinks/index.ts';

const Time = z.string();
const Text = z.string().nullable();
const Tags = z.array(z.strictObject({ tag: z.strictObject({ id: z.string(), name: z.string(), color: z.string() }) }));
export const State = z.enum(['QUEUE', 'PUBLISHED', 'ERROR', 'DRAFT']); // four, whatever happened (T18)

const ActualDate = Time.optional().meta({
  description: 'Of a date of a series: the date of the post that waits. `publishDate` is that of the occurrence.',
});

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;
const tagsOf = ({ tags }: BriefPost) => tags.map(({ id, name, color }) => ({ tag: { id, name, color } }));

const approvalOf = ({ approvalState, approvalBy, approvalAt, contentHash }: PostRow) =>
  approvalState && { state: approvalState, by: approvalBy, at: approvalAt!.toISOString(), contentHash: contentHash! };
/** The channel of a post in short. */
export const Integration = z.strictObject({
  id: z.string(),
  name: z.string(),
  identifier: z.string(),
  providerIdentifier: z.string(),
  picture: Text,
});
export const presentIntegration = ({
  channelId,
  channelName,
  providerId,
  picture,
}: PostRow): z.input<typeof Integration> => ({
  id: channelId,
  name: channelName,
  identifier: providerId,
  providerIdentifier: providerId,
  picture,
});
const recurrenceOf = ({ recurrence }: PostRow) =>
  recurrence && {
    rrule: recurrence.left === null ? recurrence.days : `${recurrence.days};COUNT=${recurrence.left}`,
    timezone: recurrence.timezone,
    until: recurrence.until,
  };

/** A post of the console (S99). */
export const Post = z.strictObject({
  id: z.string(),
  state: State,
  detail: Text,
  errorKind: Text,
  error: Text,
  publishDate: Time,
  organizationId: z.string(),
  integrationId: z.string(),
  integration: Integration,
  content: z.string(),
  image: z.array(
    z.strictObject({
      id: Text,
      path: z.string(),
      alt: z.string(),
      thumbnail: Text,
      thumbnailTimestamp: z.int().optional(),
    }),
  ),
  delay: z.int(),
  group: z.string(),
  title: Text,
  description: Text,
  parentPostId: Text,
  releaseId: Text,
  releaseURL: Text,
  settings: z.record(z.string(), z.unknown()),
  tags: Tags,
  /** The first of its tags that is a campaign's. */
  campaignId: Text,
  creationMethod: z.string(),
  intervalInDays: z.int().nullable(),
  recurrence: z.strictObject({ rrule: z.string(), timezone: z.string(), until: Text }).nullable(),
  actualDate: ActualDate,
  firstComment: z.strictObject({ state: z.enum(['none', 'pending', 'posted', 'failed']), error: Text }),
  firstCommentPostedAt: Text,
  /** Of a first item, for its thread: who asked, approved or rejected last, and the hash of what it is about (S121). */
  approval: z
    .strictObject({ state: z.enum(['awaiting', 'approved', 'rejected']), by: Text, at: Time, contentHash: z.string() })
    .nullable(),
  version: z.int(),
  latenessMs: z.number().nullable(),
  createdAt: Time,
  updatedAt: Time,
  deletedAt: Text,
});

/** A post as the console and webhooks show it (S99). */
export const presentPost = (row: PostRow): z.input<typeof Post> => ({
  id: row.id,
  state: row.state,
  detail: row.detail,
  errorKind: row.errorKind,
  error: row.error,
  publishDate: row.publishDate.toISOString(),
  organizationId: row.orgId,
  integrationId: row.channelId,
  integration: presentIntegration(row),
  content: row.content,
  image: row.media.map(({ id, thumbnail, ...item }) => ({ ...item, id: id ?? null, thumbnail: thumbnail ?? null })),
  delay: row.delayMinutes,
  group: row.group,
  title: row.title,
  description: row.description,
  parentPostId: row.parentPostId,
  releaseId: row.releaseId,
  releaseURL: row.releaseUrl,
  settings: row.settings,
  tags: tagsOf(row),
  campaignId: row.tags.find(({ campaignId }) => campaignId !== null)?.campaignId ?? null,
  creationMethod: row.creationMethod,
  intervalInDays: row.recurrence?.inter ?? null,
  recurrence: recurrenceOf(row),
  actualDate: row.actualDate?.toISOString(), // JSON leaves it out where there is none
  firstComment: row.firstComment,
  firstCommentPostedAt: iso(row.firstCommentPostedAt),
  approval: approvalOf(row),
  version: row.version,
  latenessMs: row.publishedAt ? Math.max(0, row.publishedAt.getTime() - row.publishDate.getTime()) : null,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  deletedAt: iso(row.deletedAt),
});

export const PostWithThread = Post.extend({ thread: z.array(Post) });

/** A post with its thread, without the root in it (S110, S257). */
export const presentPostWithThread = ([root, ...thread]: readonly PostRow[]): z.input<typeof PostWithThread> => ({
  ...presentPost(root!),
  thread: thread.map(presentPost),
});

/** A list item of the public API (3.3). */
export const PublicPost = z.strictObject({
  id: z.string(),
  content: z.string(),
  publishDate: Time,
  releaseURL: Text,
  releaseId: Text,
  state: State,
  detail: Text,
  intervalInDays: z.int().nullable(),
  actualDate: ActualDate,
  group: z.string(),
  creationMethod: z.string(),
  settings: z.string(),
  tags: Tags,
  integration: z.strictObject({ id: z.string(), providerIdentifier: z.string(), name: z.string(), picture: Text }),
});

/** A list item of the public API (3.3): these keys and no others, `settings` as text. */
export const presentPublicPost = (row: BriefPost): z.input<typeof PublicPost> => ({
  id: row.id,
  content: row.content,
  publishDate: row.publishDate.toISOString(),
  releaseURL: row.releaseUrl,
  releaseId: row.releaseId,
  state: row.state,
  detail: row.detail,
  intervalInDays: row.recurrence?.inter ?? null,
  actualDate: row.actualDate?.toISOString(),
  group: row.group,
  creationMethod: row.creationMethod,
  settings: JSON.stringify(row.settings),
  tags: tagsOf(row),
  integration: { id: row.channelId, providerIdentifier: row.providerId, name: row.channelName, picture: row.picture },
});

const Item = PublicPost.extend({ error: z.string().nullable(), errorKind: z.string().nullable() });
/** The list item, the extras of S99, and the thread (T16). */
export const PublicPostWithThread = Post.extend({ ...PublicPost.shape, thread: z.array(Item) });

/** One post of the public API (3.1): the list item, what went wrong, the thread, and the extras of S99 (T16). */
export const presentPublicPostWithThread = ([root, ...thread]: readonly PostRow[]): z.input<
  typeof PublicPostWithThread
> => ({
  ...presentPost(root!),
  ...presentPublicPost(root!),
  thread: thread.map((item) => ({ ...presentPublicPost(item), error: item.error, errorKind: item.errorKind })),
});

/** A date of a query, which may be absent. */
export const queryDate = z
  .string()
  .max(100)
  .optional()
  .transform((text, check) => (text ? asDate(text, check) : undefined));
/** The range of a calendar; without dates 30 days back and ahead (S111). */
export const Range = z.object({
  startDate: queryDate,
  endDate: queryDate,
  customer: z.string().max(255).optional(),
  state: z.string().max(50).optional(),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .optional()
    .meta({ description: 'Answers so many at most, and `nextCursor`, which is null at the end.' }),
  cursor: z
    .string()
    .max(100)
    .optional()
    .transform((text, check) => {
      const [, at, seq] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})_(\d{1,15})$/.exec(text ?? '') ?? [];
      if (at !== undefined && readDate(at)) return { at, seq: Number(seq) };
      if (text) check.issues.push({ code: 'custom', message: 'is not the nextCursor of an answer', input: text });
      return undefined;
    })
    .meta({ description: 'The `nextCursor` of the answer before.' }),
});

/** Posts by date. `nextCursor` is there when parts were asked for, so that others get the keys they know. */
export const listOf = <P extends z.ZodType>(post: P) =>
  z.strictObject({ posts: z.array(post), nextCursor: z.string().nullable().optional() });

export const Slot = z.strictObject({
  date: z.string().meta({
    description:
      'In UTC, written without an offset, such as 2026-09-01T10:00:00: as `date` of a new post it is sent back without `timezone`.',
  }),
});
export const presentSlot = (slot: Date): z.input<typeof Slot> => ({ date: slot.toISOString().slice(0, 19) });

/** The next dates of a post that recurs (S120). */
export const Occurrences = z.array(Time);
export const presentOccurrences = (dates: readonly Date[]): z.input<typeof Occurrences> =>
  dates.map((at) => at.toISOString());

export const Timeline = z.strictObject({
  postId: z.string(),
  items: z.array(z.strictObject({ at: Time, kind: z.string(), message: z.string(), data: z.unknown() })),
});

/** S117. */
export const presentTimeline = ({
  postId,
  items,
}: {
  postId: string;
  items: readonly TimelineRow[];
}): z.input<typeof Timeline> => ({
  postId,
  items: items.map(({ at, kind, message, data }) => ({ at: at.toISOString(), kind, message, data: data ?? null })),
});

export const Statistics = z.strictObject({
  clicks: z.array(z.strictObject({ short: z.string(), original: z.string(), clicks: z.int().nullable() })),
});

/** The statistics of a post (S119): what its links were followed. Null where the provider does not tell. */
export const presentStatistics = (links: readonly CountedLink[]): z.input<typeof Statistics> => ({
  clicks: links.map(({ shortUrl, url, clicks }) => ({ short: shortUrl, original: url, clicks })),
});
