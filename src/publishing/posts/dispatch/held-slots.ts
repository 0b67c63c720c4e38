import type { Sql } from '../../../platform/db/index.ts';
import { publishing } from '../state.ts';
import type { Attempt } from './attempt.ts';

// The slots that this host holds.

/**
 * Holds the slots of posts that still wait for their turn. Answers the posts whose attempt is still this one: all
 * others were taken over.
 */
export async function renew(sql: Sql, attempts: readonly Attempt[], leaseMs: number): Promise<Set<string>> {
  if (attempts.length === 0) return new Set();
  const rows = await sql<{ postId: string }[]>`
    update channels c
    set slot_until = now() + ${leaseMs}::float8 * interval '1 ms'
    from (
      select c.id, t.post_id
      from unnest(
        ${attempts.map(({ orgId }) => orgId)}::uuid[],
        ${attempts.map(({ channelId }) => channelId)}::uuid[],
        ${attempts.map(({ postId }) => postId)}::uuid[],
        ${attempts.map(({ attempt }) => attempt)}::int[],
        ${attempts.map(({ incarnation }) => incarnation)}::text[]
      ) as t (org_id, channel_id, post_id, attempt, incarnation)
      join channels c on c.org_id = t.org_id
        and c.id = t.channel_id
        and c.slot_post_id = t.post_id
        and c.slot_incarnation = t.incarnation
      join posts p on p.id = t.post_id
        and p.org_id = t.org_id
        and p.attempt = t.attempt
        and p.incarnation = t.incarnation
        and ${publishing(sql)}
      order by c.id
      for no key update of c
    ) l
    where c.id = l.id
      and c.slot_post_id = l.post_id
    returning l.post_id as "postId"`;
  return new Set(rows.map(({ postId }) => postId));
}

/**
 * Ends the slot that this host holds for a post it does not know of: the answer to the claim was lost. Its deadline is
 * now, so that the next sweep has the post looked up. What was claimed within the last second may be news that is still
 * on its way here.
 */
export const endUnknownSlot = (
  sql: Sql,
  {
    orgId,
    channelId,
    incarnation,
    known,
  }: { orgId: string; channelId: string; incarnation: string; known: readonly string[] },
) => sql`
  update channels c
  set slot_until = now()
  from posts p
  where c.org_id = ${orgId}
    and c.id = ${channelId}
    and c.slot_incarnation = ${incarnation}
    and p.id = c.slot_post_id
    and p.org_id = c.org_id
    and ${publishing(sql)}
    and p.incarnation = ${incarnation}
    and p.claimed_at < now() - interval '1 second'
    and p.id <> all(${known}::uuid[])`;
