import type { Sql } from '../../../platform/db/index.ts';
import type { Attempt } from './attempt.ts';

/** Another post of the channel whose release is not known: it may be behind a post that the network shows. */
export interface Undecided {
  content: string;
  media: number;
  /** Its outcome is still coming; otherwise a person has to decide. */
  pending: boolean;
}

const MOST = 100;

/** Of these releases, those that other posts of the channel own, deleted posts included. */
export async function ownedByOthers(sql: Sql, { orgId, channelId, postId }: Attempt, releaseIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await sql<{ releaseId: string }[]>`
    select release_id as "releaseId" from posts
    where org_id = ${orgId} and channel_id = ${channelId} and id <> ${postId} and release_id = any(${releaseIds}::text[])`;
  return new Set(rows.map(({ releaseId }) => releaseId));
}

/** Other posts of the channel that were claimed after `from` and have no known outcome yet, at most 100. */
export const undecidedSince = (sql: Sql, { orgId, channelId, postId }: Attempt, from: Date): Promise<Undecided[]> => sql<Undecided[]>`
  select p.content, jsonb_array_length(p.media) as media, p.state = 'QUEUE' as pending from posts p
  where p.org_id = ${orgId} and p.channel_id = ${channelId} and p.id <> ${postId} and p.detail in ('unconfirmed', 'processing') and p.claimed_at > ${from}
  union all
  select p.content, jsonb_array_length(p.media), true from channels c join posts p on p.id = c.slot_post_id and p.org_id = c.org_id
  where c.org_id = ${orgId} and c.id = ${channelId} and p.id <> ${postId} and p.state = 'QUEUE' and p.detail = 'publishing'
  limit ${MOST}`;
