import type { Sql } from '../../../../platform/db/index.ts';
import { consentOfRequeue, holds, writeConsent } from '../../approval/consent.ts';
import { announce } from '../../../../platform/outbox/index.ts';
import type { PostsDeps } from '../../deps.ts';
import { pausedFact, pauseReason, queuedFact, timeline, withChannel } from '../../journal.ts';
import { post } from '../../row.ts';
import { braked, labelsOf, neverCounted, queuedDetail, recurs } from '../../state.ts';
import type { PostAuthor } from '../input.ts';
import {
  answer,
  channelsUpdated,
  type FoundThread,
  lockedThread,
  outdated,
  runChange,
  runSeeing,
  type Target,
} from '../thread.ts';
import { checkDone } from '../verdict.ts';

/**
 * Queues a failed post again, at once, and the items of its thread that were given up with it; with `confirm` also one
 * whose outcome is unknown.
 * Where `by` may not queue it unasked, it is held instead.
 * @throws AppError `conflict` while a request may be under way (S118)
 */
export async function retryPost(
  deps: PostsDeps,
  orgId: string,
  postId: string,
  { confirm, by }: { confirm: boolean; by?: PostAuthor | undefined },
): Promise<void> {
  const target = { orgId, postId };
  checkDone(
    await runChange(deps, async (sql) => {
      const found = await runSeeing(() => requeue(sql, target, { confirm, by }, deps.options.horizonMs));
      if (found?.verdict === 'done') await writeConsent(sql, target, found.consent, by);
      return found;
    }),
  );
}

const requeue = (
  sql: Sql,
  target: Target,
  { confirm, by }: { confirm: boolean; by: PostAuthor | undefined },
  horizonMs: number,
) => sql<FoundThread[]>`
    with ${lockedThread(sql, target)}, verdict as (
      select case
        ${outdated(sql)}
        when t.id is null then 'not_found'
        when t.state <> 'ERROR' then 'not_failed'
        when ${neverCounted(sql, 'r')} then 'over_limit'
        when t.undecided and not ${confirm} then 'undecided'
        when exists (select from thread b where b.id = t.parent_post_id and b.state <> 'PUBLISHED') then 'not_failed'
        when c.disabled then 'disabled'
        else 'done'
      end as verdict,${consentOfRequeue(sql, target.orgId, by)} as consent
      from (select 1) one
      left join thread t on t.is_target
      left join thread r on r.root_post_id is null
      left join channel c on true
    ), changed as (
      update posts p
      set state = case when ${holds(sql)} then 'DRAFT' else 'QUEUE' end,
        detail = case when ${holds(sql)} then 'awaiting_approval' else ${queuedDetail(sql, labelsOf(sql))} end,
        on_brake = not ${holds(sql)} and ${braked(sql, labelsOf(sql))},
        error_kind = null, error = null, attempts_failed = 0,
        -- who approves it has a day from now; the date of a series is its time of day
        publish_date = case
          when ${holds(sql)} and not exists (select from thread r where ${recurs(sql, 'r')}) then now()
          else least(p.publish_date, now()) end,
        due_at = case when p.id = t.id and not ${holds(sql)} then now() end,
        -- what a network refused begins anew; what may be out goes out again under the same id
        saved = case when b.undecided then p.saved end,
        version = p.version + 1, updated_at = now()
      from thread b, thread t, channel c, verdict v
      where v.verdict = 'done'
        and t.is_target
        and p.id = b.id
        and p.org_id = ${target.orgId}
        and b.state = 'ERROR'
        and (b.id = t.id or b.seq > t.seq and b.attempt = 0)
      returning ${post.names(sql, 'fact', 'p')}, p.on_brake
    ), ${channelsUpdated(sql, target.orgId, horizonMs)},
    ${timeline(sql, {
      from: sql`changed`,
      kind: sql`case state when 'QUEUE' then 'scheduled' else 'edited' end`,
      message: sql`case state when 'QUEUE' then 'Sent again by a person' else 'To be sent again' end`,
    })}, ${announce(sql, {
      'post.scheduled': {
        from: withChannel(
          sql,
          sql`(select * from changed where state = 'QUEUE' and root_post_id is null)`,
          sql`channel`,
        ),
        payload: queuedFact(sql),
      },
      'post.paused': {
        from: withChannel(sql, sql`(select * from changed where state = 'QUEUE' and detail = 'paused')`, sql`channel`),
        payload: pausedFact(sql, pauseReason(sql)),
      },
    })}
    ${answer(sql, target, sql`, v.consent`)}`;
