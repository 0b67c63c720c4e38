import type { Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import type { PostAuthor } from '../authoring/input.ts';
import type { Target } from '../authoring/thread.ts';
import { decidedFact, moment, pausedFact, pauseReason, queuedFact, timeline, withChannel } from '../journal.ts';
import { post } from '../row.ts';
import { hashOfThread } from './consent.ts';

const DECISIONS = {
  approved: { kind: 'approved', message: 'Approved' },
  rejected: { kind: 'rejected', message: 'Rejected' },
} as const;

/** Writes what was decided about a thread and what follows, in the transaction that holds its locks. */
export const writeDecision = (
  sql: Sql,
  { orgId, postId }: Target,
  decision: keyof typeof DECISIONS,
  { by, reason = null }: { by: PostAuthor; reason?: string | null },
) => sql`
    with decided as (
      update posts p
      set approval_state = ${decision}, approval_by = ${by.userId}, approval_at = now(),
        approval_hash = ${hashOfThread(sql)}, updated_at = now()
      from posts t
      where t.org_id = ${orgId}
        and t.id = ${postId}
        and p.org_id = ${orgId}
        and p.id = coalesce(t.root_post_id, t.id)
      returning ${post.names(sql, 'fact', 'p')}, p.approval_hash, p.on_brake
    ), ${timeline(
      sql,
      {
        from: sql`decided`,
        ...DECISIONS[decision],
        data: sql`jsonb_build_object('contentHash', approval_hash, 'by', ${by.userId}::text, 'reason', ${reason}::text)`,
      },
      {
        from: sql`decided where state = 'QUEUE'`,
        kind: 'scheduled',
        message: 'Scheduled',
        data: sql`jsonb_build_object('publishDate', ${moment(sql, sql`publish_date`)})`,
      },
    )}, ${announce(sql, {
      [`post.${decision}` as const]: {
        from: withChannel(sql, sql`decided`),
        payload: decidedFact(sql, sql`${by.userId}::text`, sql`${reason}::text`),
      },
      'post.scheduled': {
        from: withChannel(sql, sql`(select * from decided where state = 'QUEUE')`),
        payload: queuedFact(sql),
      },
      'post.paused': {
        from: withChannel(sql, sql`(select * from decided where state = 'QUEUE' and detail = 'paused')`),
        payload: pausedFact(sql, pauseReason(sql)),
      },
    })}
    select from decided`;
