import type { Sql } from '../../../platform/db/index.ts';
import type { Post, Published, Social } from '../../../providers/registry/index.ts';
import type { Attempt, ClaimedPost } from './attempt.ts';
import type { Connected } from '../channels-port.ts';
import { LONGEST_CALL_MS, SKEW_MS, SLOT_LEASE_MS } from '../rules.ts';
import { outcomeUnknown, publishing } from '../state.ts';

/**
 * What the network shows of an attempt. `unclear`: posts that look like it, of which more than one could be it, or of
 * which one could be another post's; `pending` while the outcome of that other post is still coming.
 */
export type LookedUp =
  | { kind: 'found'; release: Published }
  | { kind: 'none' }
  | { kind: 'unclear'; similar: readonly Published[]; pending: boolean };

interface Wanted {
  claimed: ClaimedPost;
  post: Post;
  settings: unknown;
  find: NonNullable<Social['find']>;
  write: Connected['write'];
}

/**
 * Asks the network for an attempt whose answer was lost. A release that another post of the channel owns is never
 * taken for it. The rows are read after the network was asked: whatever it showed by then has its row by then.
 * @throws ProviderError where the network does not say
 */
export async function findOnNetwork(sql: Sql, { claimed, post, settings, find, write }: Wanted): Promise<LookedUp> {
  const since = new Date(claimed.claimedAt.getTime() - SKEW_MS);
  const shown = await find(post, settings, { since, saved: claimed.saved, thread: claimed.thread });
  if (shown === undefined) return { kind: 'none' };
  if ('id' in shown) return { kind: 'found', release: shown };
  if (shown.length === 0) return { kind: 'none' };

  const others = await undecidedSince(sql, claimed, new Date(since.getTime() - SLOT_LEASE_MS - LONGEST_CALL_MS));
  const owned = await ownedByOthers(
    sql,
    claimed,
    shown.map(({ id }) => id),
  ); // after the others: one that was settled in between owns its release now
  const similar = shown.filter(({ id }) => !owned.has(id));
  const [only] = similar;
  if (!only) return { kind: 'none' };
  const own = others.length > 0 ? write(claimed.content) : undefined;
  const twins = others.filter(({ content, media }) => {
    if (!own || media !== claimed.media.length) return false;
    const { text, plain } = write(content);
    return text === own.text || plain === own.plain; // networks show the one or the other
  });
  return similar.length === 1 && twins.length === 0
    ? { kind: 'found', release: only }
    : { kind: 'unclear', similar, pending: similar.length === 1 && twins.every(({ pending }) => pending) };
}

/** Another post of the channel whose release is not known: it may be behind a post that the network shows. */
interface Undecided {
  content: string;
  media: number;
  /** Its outcome is still coming; otherwise a person has to decide. */
  pending: boolean;
}

const MOST = 100;

/** Of these releases, those that other posts of the channel own, deleted posts included. */
async function ownedByOthers(
  sql: Sql,
  { orgId, channelId, postId }: Attempt,
  releaseIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ releaseId: string }[]>`
    select release_id as "releaseId"
    from posts
    where org_id = ${orgId}
      and channel_id = ${channelId}
      and id <> ${postId}
      and release_id = any(${releaseIds}::text[])`;
  return new Set(rows.map(({ releaseId }) => releaseId));
}

/** Other posts of the channel that were claimed after `from` and have no known outcome yet, at most 100. */
const undecidedSince = (sql: Sql, { orgId, channelId, postId }: Attempt, from: Date): Promise<Undecided[]> => sql<
  Undecided[]
>`
  select p.content, jsonb_array_length(p.media) as media, p.state = 'QUEUE' as pending
  from posts p
  where p.org_id = ${orgId}
    and p.channel_id = ${channelId}
    and p.id <> ${postId}
    and ${outcomeUnknown(sql)}
    and p.claimed_at > ${from}
  union all
  select p.content, jsonb_array_length(p.media), true
  from channels c
  join posts p on p.id = c.slot_post_id and p.org_id = c.org_id
  where c.org_id = ${orgId}
    and c.id = ${channelId}
    and p.id <> ${postId}
    and ${publishing(sql)}
  limit ${MOST}`;
