import type { Fragment, Sql } from '../../../platform/db/index.ts';

/** A delivery `d` of the webhook `l` that waits, other than the one that the step settles. */
const waits = (sql: Sql): Fragment => sql`
          d.webhook_id = l.id
          and d.org_id = l.org_id
          and d.state = 'pending'
          and d.id is distinct from l.delivery_id`;

/** When the first attempts, the retries and what was queued again are due. */
export const earliestOthers = (sql: Sql): Fragment => sql`(
        select d.next_attempt_at
        from webhook_deliveries d
        where ${waits(sql)}
          and d.attempts = 0
        order by d.seq
        limit 1
      ), (
        select d.next_attempt_at
        from webhook_deliveries d
        where ${waits(sql)}
          and d.attempts > 0
        order by d.next_attempt_at
        limit 1
      ), (
        select now()
        from webhook_deliveries d
        where ${waits(sql)}
          and d.next_attempt_at is null
        limit 1
      )`;

/**
 * The delivery of the webhook `l` that goes next: the one that this host holds, a due retry, a first attempt, one that
 * was queued again.
 */
export const claimable = (sql: Sql): Fragment => sql`
      select *
      from (
        (
          select 1 as rank, d.id, d.attempts, d.replayed_from, d.event, d.seq, d.body
          from webhook_deliveries d
          where d.id = l.slot_delivery_id
            and l.own
            and ${waits(sql)}
        ) union all (
          select 2, d.id, d.attempts, d.replayed_from, d.event, d.seq, d.body
          from webhook_deliveries d
          where ${waits(sql)}
            and d.attempts > 0
            and d.next_attempt_at <= now()
          order by d.next_attempt_at
          limit 1
        ) union all (
          select 3, d.id, d.attempts, d.replayed_from, d.event, d.seq, d.body
          from webhook_deliveries d
          where ${waits(sql)}
            and d.attempts = 0
          order by d.seq
          limit 1
        ) union all (
          select 4, d.id, d.attempts, d.replayed_from, d.event, d.seq, d.body
          from webhook_deliveries d
          where ${waits(sql)}
            and d.next_attempt_at is null
          order by d.seq
          limit 1
        )
      ) candidates
      order by rank
      limit 1`;
