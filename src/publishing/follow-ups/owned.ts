import type { Sql } from '../../platform/db/index.ts';
import type { Published } from '../../providers/registry/index.ts';
import type { FollowUp } from './row.ts';

/** Of these, what posts and other follow-ups of the channel are known to be. */
export async function ownedReleases(
  sql: Sql,
  { id, orgId, channelId, postId }: Pick<FollowUp, 'id' | 'orgId' | 'channelId' | 'postId'>,
  shown: readonly Published[],
): Promise<ReadonlySet<string>> {
  const ids = shown.map((one) => one.id);
  const rows = await sql<{ releaseId: string }[]>`
    select p.release_id as "releaseId"
    from posts p
    where p.org_id = ${orgId}
      and p.channel_id = ${channelId}
      and p.release_id = any(${ids}::text[])
    union all
    select f.release_id
    from post_follow_ups f
    where f.org_id = ${orgId}
      and f.post_id = ${postId}
      and f.channel_id = ${channelId}
      and f.id <> ${id}
      and f.release_id = any(${ids}::text[])`;
  return new Set(rows.map(({ releaseId }) => releaseId));
}

/**
 * Whether another follow-up of the channel below the same post, which goes first, may be what the network shows: its
 * own outcome is still open.
 */
export async function isAnotherOpen(
  sql: Sql,
  { id, orgId, channelId, postId }: Pick<FollowUp, 'id' | 'orgId' | 'channelId' | 'postId'>,
): Promise<boolean> {
  const rows = await sql`
    select
    from post_follow_ups
    where org_id = ${orgId}
      and post_id = ${postId}
      and channel_id = ${channelId}
      and id < ${id}
      and state in ('sending', 'unconfirmed')`;
  return rows.length > 0;
}
