import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { failedFact, pausedFact, pauseReason, postFact, releasedFact, withChannel } from '../journal.ts';
import { post } from '../row.ts';

/** The facts of what was settled. Only a first item is announced as published. */
export function settleFacts(sql: Sql, lateMs: number): Fragment {
  const of = (where: Fragment) => withChannel(sql, sql`(select * from settled where ${where})`, sql`channel`);
  const latenessMs = sql`round(extract(epoch from now() - publish_date) * 1000)`;
  return announce(sql, {
    'post.published': { from: of(sql`topic = 'post.published' and root_post_id is null`), payload: releasedFact(sql) },
    'post.failed': {
      from: of(sql`topic = 'post.failed'`),
      payload: { ...failedFact(sql), detail: sql`null`, attempts: sql`attempts_failed`, retryable: sql`retryable` },
    },
    'post.unconfirmed': {
      from: of(sql`topic = 'post.unconfirmed'`),
      payload: { ...postFact(sql), state: sql`state`, detail: sql`detail`, error: sql`error` },
    },
    'post.retrying': {
      from: of(sql`topic = 'post.retrying' and detail not in ('paused', 'awaiting_approval')`),
      payload: { ...failedFact(sql), detail: sql`detail`, attempt: sql`attempts_failed`, nextAttemptAt: sql`due_at` },
    },
    'post.paused': {
      from: withChannel(
        sql,
        sql`(
          select ${post.names(sql, 'fact', 's')}, s.on_brake, s.disabled
          from settled s
          where s.state = 'QUEUE'
            and s.detail = 'paused'
          union all
          select ${post.names(sql, 'fact', 'o')}, o.on_brake, o.disabled
          from opened o
          where o.is_paused
        )`,
        sql`channel`,
      ),
      payload: pausedFact(sql, sql`case when disabled then 'instance' else ${pauseReason(sql)} end`),
    },
    'post.late': {
      from: of(
        sql`
          state = 'PUBLISHED' and root_post_id is null and now() - publish_date > ${lateMs}::float8 * interval '1 ms'`,
      ),
      payload: { ...releasedFact(sql), latenessMs },
    },
  });
}
