import type { Sql } from '../../platform/db/index.ts';
import { newId } from '../../platform/kernel/index.ts';
import { append, type NewFact } from '../../platform/outbox/index.ts';
import type { SocialAdapter } from '../../providers/registry/index.ts';
import type { CommentsDeps } from './deps.ts';
import { type ClaimedSweep, endSweep, holdSweep } from './due-store.ts';
import { type FoundComment, markAnswered, markGone, type NewRow, upsertComments, upsertReads } from './news-store.ts';
import type { ChannelComments, PostComments } from './read.ts';
import { isName, keptComment, MOST_SINGLE } from './rules.ts';

const MOST_CURSOR = 2_000;

/**
 * Stores what one sweep read of a channel, with its facts and the end of the claim, in one commit; nothing where the
 * claim is another's now.
 */
export const storeComments = (
  { sql, minutes, days }: Pick<CommentsDeps, 'sql' | 'minutes' | 'days'>,
  sweep: ClaimedSweep,
  { posts, failure }: ChannelComments,
  adapter: SocialAdapter,
): Promise<void> =>
  sql.begin(async (tx) => {
    if (!(await holdSweep(tx, sweep))) return;
    const found = foundIn(sweep, posts);
    const fresh = found.length > 0 ? await upsertComments(tx, sweep, found, days) : [];
    await noteGone(tx, sweep, posts, adapter);
    if (found.length > 0)
      await markAnswered(
        tx,
        sweep,
        posts.map(({ post }) => post.id),
      );
    await upsertReads(tx, sweep, posts.map(stateOf));
    await append(tx, factsOf(sweep, { posts, found, fresh, minutes }));
    await endSweep(tx, sweep, { minutes, isWhole: sweep.isWhole && !failure, againMs: failure?.againMs ?? 0 });
  });

/** The comments of all posts, the first of those with one id. */
function foundIn(
  { channel: { internalId }, handle }: ClaimedSweep,
  posts: readonly PostComments[],
): readonly FoundComment[] {
  const found = new Map<string, FoundComment>();
  for (const { post, comments } of posts)
    for (const comment of comments) {
      const kept = keptComment(comment, { internalId, handle });
      if (kept && !found.has(kept.externalId)) found.set(kept.externalId, { id: newId(), postId: post.id, ...kept });
    }
  return [...found.values()];
}

async function noteGone(
  tx: Sql,
  sweep: ClaimedSweep,
  posts: readonly PostComments[],
  { commentReads }: SocialAdapter,
): Promise<void> {
  const whole = posts.flatMap(({ post, comments, isComplete }) =>
    isComplete ? [{ postId: post.id, externalIds: comments.map(({ id }) => id).filter((id) => isName(id)) }] : [],
  );
  if (whole.length === 0 || commentReads?.lists === 'some') return;
  await markGone(tx, sweep, whole, commentReads?.lists !== 'top');
}

const stateOf = ({ post, cursor, isEnded }: PostComments) => ({
  postId: post.id,
  cursor: cursor !== null && isName(cursor, MOST_CURSOR) ? cursor : null,
  isSilent: post.isSilent && !isEnded,
});

interface Found {
  posts: readonly PostComments[];
  found: readonly FoundComment[];
  fresh: readonly NewRow[];
  minutes: number;
}

/** What others are told: comments of people, below posts whose first look is not silent. */
function factsOf({ orgId, channelId, channel }: ClaimedSweep, { posts, found, fresh, minutes }: Found): NewFact[] {
  const heard = new Map(posts.flatMap(({ post }) => (post.isSilent ? [] : [[post.id, post]])));
  const isNew = new Set(fresh.map(({ id }) => id));
  const news = found
    .filter(({ id, postId }) => isNew.has(id) && heard.has(postId))
    .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  const newest = news.at(-1);
  if (!newest) return [];
  const isBatch = news.length > MOST_SINGLE;
  const makers = [...new Set(news.flatMap(({ postId }) => heard.get(postId)?.createdBy ?? []))];
  const { content, authorName } = newest;
  const { providerId, name } = channel;
  return [
    ...(isBatch ? [] : news).map((one) => ({
      orgId,
      topic: 'comment.new' as const,
      entityId: one.id,
      payload: { channelId, postId: one.postId, content: one.content, authorName: one.authorName },
    })),
    {
      orgId,
      topic: 'comment.synced',
      entityId: channelId,
      payload: { providerId, name, count: news.length, isBatch, minutes, makers, content, authorName },
    },
  ];
}
