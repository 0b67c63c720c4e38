import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { toResend } from '../state.ts';
import type { ClaimedPost } from './attempt.ts';
import { attemptColumns, attemptOf, type AttemptRow, snapshot } from './attempt-row.ts';

// Attempts that the network is asked about after they ended without a known outcome.

type UnsettledRow = AttemptRow &
  Pick<ClaimedPost, 'incarnation' | 'unansweredMs' | 'mayHaveSent' | 'isResend' | 'lookUps'>;

/** The attempt of a post that is not settled, only while its row waits for this look-up. */
export const waitsFor = (
  sql: Sql,
  orgId: string,
  postId: string,
  detail: 'processing' | 'unconfirmed',
): Promise<ClaimedPost | undefined> => readAttempt(sql, orgId, postId, sql`p.state = 'QUEUE' and p.detail = ${detail}`);

/** The same for whoever looks it up now: the scan for posts that nobody looks up leaves it alone for `leaseMs`. */
export const claimLookUp = (
  sql: Sql,
  orgId: string,
  postId: string,
  detail: 'processing' | 'unconfirmed',
  leaseMs: number,
): Promise<ClaimedPost | undefined> =>
  readAttempt(sql, orgId, postId, sql`true`, {
    with: sql`
  with asked as (
    update posts
    set look_up_at = greatest(look_up_at, now() + ${leaseMs}::float8 * interval '1 ms')
    where org_id = ${orgId}
      and id = ${postId}
      and state = 'QUEUE'
      and detail = ${detail}
    returning *
  )`,
    posts: sql`asked`,
  });

/** The last attempt of a post that failed, so that a person can look for it on the network. */
export const lastAttempt = (sql: Sql, orgId: string, postId: string): Promise<ClaimedPost | undefined> =>
  readAttempt(
    sql,
    orgId,
    postId,
    sql`p.state in ('ERROR', 'PUBLISHED') and p.claimed_at is not null and p.incarnation is not null`,
  );

// A post may wait for its turn long after it was claimed; when its answer is noted as missing, its request has left.
const missingSince = (sql: Sql): Fragment => sql`coalesce((
      select min(t.at)
      from post_timeline t
      where t.post_id = p.id
        and t.org_id = p.org_id
        and t.kind = 'unconfirmed'
        and t.at >= p.claimed_at
    ), p.claimed_at)`;

async function readAttempt(
  sql: Sql,
  orgId: string,
  postId: string,
  condition: Fragment,
  from = { with: sql``, posts: sql`posts` },
): Promise<ClaimedPost | undefined> {
  const [row] = await sql<UnsettledRow[]>`${from.with}
    select p.channel_id as "channelId", p.incarnation, p.request_sent_at is not null as "mayHaveSent",
      ${toResend(sql)} as "isResend", p.look_ups as "lookUps",
      round(extract(epoch from now() - ${missingSince(sql)}) * 1000)::float8 as "unansweredMs",
      ${snapshot(sql)} as channel,${attemptColumns(sql, 'p')}
    from ${from.posts} p
    join channels c on c.id = p.channel_id and c.org_id = p.org_id
    where p.org_id = ${orgId}
      and p.id = ${postId}
      and ${condition}`;
  if (!row) return undefined;
  const { incarnation, unansweredMs, mayHaveSent, isResend, lookUps } = row;
  return { ...attemptOf(row), incarnation, unansweredMs, mayHaveSent, isResend, lookUps, lateMs: 0, heldSince: 0 };
}
