import type { PostRow, TimelineRow } from './reading/list.ts';

const iso = (date: Date | null): string | null => date?.toISOString() ?? null;
const tagsOf = ({ tags }: PostRow) => tags.map(({ id, name, color }) => ({ tag: { id, name, color } }));

/** A post as the console and webhooks show it (S99). */
export const presentPost = (row: PostRow) => ({
  id: row.id,
  state: row.state,
  detail: row.detail,
  errorKind: row.errorKind,
  error: row.error,
  publishDate: row.publishDate.toISOString(),
  organizationId: row.orgId,
  integrationId: row.channelId,
  integration: { id: row.channelId, name: row.channelName, identifier: row.providerId, providerIdentifier: row.providerId, picture: row.picture },
  content: row.content,
  image: row.media.map(({ id, path, alt, thumbnail }) => ({ id: id ?? null, path, alt, thumbnail: thumbnail ?? null })),
  delay: row.delayMinutes,
  group: row.group,
  title: row.title,
  description: row.description,
  parentPostId: row.parentPostId,
  releaseId: row.releaseId,
  releaseURL: row.releaseUrl,
  settings: row.settings,
  tags: tagsOf(row),
  creationMethod: row.creationMethod,
  intervalInDays: null,
  firstComment: { state: 'none' as const, error: null },
  firstCommentPostedAt: null,
  approval: null,
  version: row.version,
  latenessMs: row.publishedAt ? Math.max(0, row.publishedAt.getTime() - row.publishDate.getTime()) : null,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  deletedAt: iso(row.deletedAt),
});

/** A post with its thread, without the root in it (S110, S257). */
export const presentPostWithThread = ([root, ...thread]: readonly PostRow[]) => ({ ...presentPost(root!), thread: thread.map(presentPost) });

/** A list item of the public API (3.3): these keys and no others, `settings` as text. */
export const presentPublicPost = (row: PostRow) => ({
  id: row.id,
  content: row.content,
  publishDate: row.publishDate.toISOString(),
  releaseURL: row.releaseUrl,
  releaseId: row.releaseId,
  state: row.state,
  detail: row.detail,
  intervalInDays: null,
  group: row.group,
  creationMethod: row.creationMethod,
  settings: JSON.stringify(row.settings),
  tags: tagsOf(row),
  integration: { id: row.channelId, providerIdentifier: row.providerId, name: row.channelName, picture: row.picture },
});

/** One post of the public API (3.1): the list item, what went wrong, the thread, and the extras of S99 (T16). */
export const presentPublicPostWithThread = ([root, ...thread]: readonly PostRow[]) => ({
  ...presentPost(root!),
  ...presentPublicPost(root!),
  thread: thread.map((item) => ({ ...presentPublicPost(item), error: item.error, errorKind: item.errorKind })),
});

/** S117. */
export const presentTimeline = ({ postId, items }: { postId: string; items: readonly TimelineRow[] }) => ({
  postId,
  items: items.map(({ at, kind, message, data }) => ({ at: at.toISOString(), kind, message, data: data ?? null })),
});
