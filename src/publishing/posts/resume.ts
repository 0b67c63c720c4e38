import type { Fragment, Sql } from '../../platform/db/index.ts';
import { announce, type Payload } from '../../platform/outbox/index.ts';
import { owed, paymentPolicy, returns } from './bulk.ts';
import { failedFact, pausedFact, timeline, withChannel } from './journal.ts';
import type { FollowUpsPort } from './ports.ts';
import { PARENT_FAILED, post } from './row.ts';
import { braked, labelsOf, lacksRoom, overLimit, paused, queued, waiting } from './state.ts';

// What becomes of the posts of a channel that starts again, over the CTE `channel` of its locked row.

/**
 * The due time of the post `p`. An item that was deleted with its channel while the one ahead of it was under way had
 * none when that went out: it has it from then on.
 */
const dueOf = (sql: Sql): Fragment => sql`coalesce(p.due_at, (
          select greatest(q.published_at + p.delay_minutes * interval '1 minute', p.publish_date)
          from posts q
          where q.org_id = p.org_id
            and q.id = p.parent_post_id
            and q.state = 'PUBLISHED'
            and ${queued(sql)}
        ))`;

/**
 * When the post `p` was to go out: an item of a thread at its own time, and one that waits for the item ahead of it with
 * the one of its thread that has a time.
 */
const timeOf = (sql: Sql): Fragment => sql`coalesce(
          ${dueOf(sql)},
          case when p.root_post_id is not null then (
            select min(q.due_at)
            from posts q
            where q.org_id = p.org_id
              and (q.id = p.root_post_id or q.root_post_id = p.root_post_id)
              and ${queued(sql, 'q')}
          ) end,
          p.publish_date
        )`;
/** It is too late for the rule `policy`. */
const late = (sql: Sql): Fragment => sql`(${timeOf(sql)} < policy.horizon)`;

/**
 * The kind of fault of the item ahead of the post `p` that has failed, by an attempt that was under way when its channel
 * was deleted. Who settled that one did not see the deleted items behind it.
 */
const failureAhead = (sql: Sql): Fragment => sql`(
          select coalesce(q.error_kind, 'unknown')
          from posts q
          where q.org_id = p.org_id
            and (q.id = p.root_post_id or q.root_post_id = p.root_post_id)
            and q.seq < p.seq
            and q.state = 'ERROR'
          order by q.seq
          limit 1
        )`;

/**
 * What becomes of a post of the channel row `c`: `p` the post, `policy` the rule; `c.stopped` when the channel still
 * stands still. Where only a brake is left that holds it, it waits for that.
 */
const resumed = (sql: Sql): Fragment => {
  const stands = sql`(c.stopped or ${owed(sql)} or ${lacksRoom(sql)})`;
  const isLost = sql`(${queued(sql)} and p.root_post_id is not null and ${failureAhead(sql)} is not null)`;
  const dropped = sql`(${queued(sql)} and ${late(sql)} and policy.choice = 'drop' and not ${stands} and not ${isLost})`;
  const starts = sql`(${queued(sql)} and not ${late(sql)} and not ${stands} and not ${isLost})`;
  const runs = sql`(${starts} and not ${braked(sql, labelsOf(sql))})`;
  return sql`
    state = case when ${isLost} or ${dropped} then 'ERROR' else p.state end,
    detail = case
      when ${isLost} then null
      when ${dropped} then 'missed'
      when ${runs} then 'scheduled'
      when ${queued(sql)} then 'paused'
      else p.detail end,
    on_brake = not ${isLost} and not ${dropped} and (p.on_brake or ${starts}) and ${braked(sql, labelsOf(sql))},
    error_kind = case when ${isLost} then ${failureAhead(sql)} when ${dropped} then 'missed' else p.error_kind end,
    error = case
      when ${isLost} then ${PARENT_FAILED}
      when ${dropped} then 'The channel was not connected when this post was due'
      else p.error end,
    due_at = case
      when ${isLost} or ${dropped} then null
      when ${runs}
        and (${dueOf(sql)} is not null or p.root_post_id is null)
        then greatest(coalesce(${dueOf(sql)}, p.publish_date), now())
      else ${dueOf(sql)}
    end,
    deleted_at = null,
    updated_at = now()`;
};

const resumeWaiting = (sql: Sql, orgId: string): Fragment => sql`
    update posts p
    set ${resumed(sql)}
    from channel c, policy
    where p.org_id = ${orgId}
      and p.channel_id = c.id
      and ${paused(sql)}
      and not p.on_brake -- waits for nothing else
      and not c.stopped
      and not ${owed(sql)}
      and not ${overLimit(sql)}
      and (not ${late(sql)} or policy.choice = 'drop')
    returning ${post.names(sql, 'fact', 'p')}, p.seq, true as was_queued`;

const restoreDeleted = (sql: Sql, orgId: string): Fragment => sql`
    update posts p
    set ${resumed(sql)}
    from channel c, policy, posts b
    where p.org_id = ${orgId}
      and p.channel_id = c.id
      and ${returns(sql)}
      and p.state <> 'PUBLISHED'
      and b.org_id = p.org_id
      and b.id = p.id -- as it was before
    returning ${post.names(sql, 'fact', 'p')}, p.seq, ${queued(sql, 'b')} as was_queued`;

/** The items of threads behind one that is given up go with it. */
const abandonThreads = (sql: Sql, orgId: string): Fragment => sql`
    update posts p
    set state = 'ERROR', detail = 'missed', error_kind = 'missed', error = ${PARENT_FAILED}, updated_at = now()
    from given_up g
    where p.org_id = ${orgId}
      and p.root_post_id = coalesce(g.root_post_id, g.id)
      and p.seq > g.seq
      and p.state = 'QUEUE'
      and p.detail = 'scheduled'
      and p.due_at is null
      and p.deleted_at is null
    returning p.id, p.org_id`;

/** Of the items of each thread the first one: who is told of it is not told of those behind it. */
const firstOfThreads = (sql: Sql, items: Fragment): Fragment => sql`(
    select distinct on (coalesce(root_post_id, id)) *
    from ${items}
    order by coalesce(root_post_id, id), seq
  )`;

const RESUMED: Record<Payload<'post.resumed'>['reason'], string> = {
  channel: 'The channel works again',
  brake: 'The brake is off',
  billing: 'The organization has paid',
  instance: 'The organization is in use again',
};

/**
 * Starts the posts that wait in the row of `channel (id, org_id, stopped, brakes, deleted_at)`, and brings back those
 * that were deleted with it. The CTE `next` has the next due time of the channel. `followUps`: what waits for the end of
 * a thread has its time when the last items of that are given up.
 */
export const resumePosts = (
  sql: Sql,
  orgId: string,
  followUps: Pick<FollowUpsPort, 'plan'>,
  reason: Payload<'post.resumed'>['reason'] = 'channel',
): Fragment => sql`
  ${paymentPolicy(sql, orgId)}, waited as (${resumeWaiting(sql, orgId)}
  ), restored as (${restoreDeleted(sql, orgId)}
  ), touched as (
    select *
    from waited
    union all
    select *
    from restored
  ), resumed as (
    select *
    from touched
    where state = 'QUEUE'
      and detail = 'scheduled'
  ), given_up as (
    select *
    from touched
    where was_queued
      and state = 'ERROR'
      and detail = 'missed'
  ), lost as (
    select *
    from touched
    where was_queued
      and state = 'ERROR'
      and detail is null
  ), abandoned as (${abandonThreads(sql, orgId)}
  ), ${timeline(
    sql,
    { from: sql`resumed`, kind: 'resumed', message: RESUMED[reason] },
    { from: sql`given_up`, kind: 'failed', message: 'Missed while the channel was not connected' },
    { from: sql`lost`, kind: 'failed', message: PARENT_FAILED },
    { from: sql`abandoned`, kind: 'failed', message: PARENT_FAILED },
  )}, ${announce(sql, {
    'post.resumed': { from: withChannel(sql, sql`resumed`), payload: pausedFact(sql, sql`${reason}::text`) },
    'post.failed': {
      from: withChannel(sql, firstOfThreads(sql, sql`given_up`)),
      payload: { ...failedFact(sql), detail: sql`detail`, attempts: sql`attempt`, retryable: sql`false` },
    },
  })}, ${followUps.plan(sql, sql`(select *, null::jsonb as settings from given_up)`)}, next as (
    select min(due_at) as due_at
    from (
      select due_at
      from resumed
      union all
      select p.due_at
      from posts p
      join channel c on p.channel_id = c.id and not c.stopped
      where p.org_id = ${orgId}
        and ${waiting(sql)}
    ) times
  )`;
