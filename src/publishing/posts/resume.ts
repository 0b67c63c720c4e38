import type { Fragment, Sql } from '../../platform/db/index.ts';
import { announce, type Payload } from '../../platform/outbox/index.ts';
import { owed, paymentPolicy, returns } from './bulk.ts';
import { failedFact, pausedFact, timeline, withChannel } from './journal.ts';
import type { FollowUpsPort } from './ports.ts';
import { PARENT_FAILED, post } from './row.ts';
import { braked, labelsOf, lacksRoom, paused, queued, waiting } from './state.ts';

// What becomes of the posts of a channel that starts again, over the CTE `channel` of its locked row.

/**
 * What the thread of the item `p` says of it. `due_after`: an item that was deleted with its channel while the one ahead
 * of it was under way had no due time when that went out; it has it from then on. `first_due`: the item of the thread
 * that has a time, with which the ones behind it wait. `failed_ahead`: the kind of fault of an item ahead of it, by an
 * attempt that was under way when its channel was deleted; who settled that one did not see the deleted items behind it.
 */
const threadOf = (sql: Sql): Fragment => sql`(
      select min(q.due_at) filter (where ${queued(sql, 'q')}) as first_due,
        min(greatest(q.published_at + p.delay_minutes * interval '1 minute', p.publish_date))
          filter (where q.id = p.parent_post_id and q.state = 'PUBLISHED') as due_after,
        (array_agg(coalesce(q.error_kind, 'unknown') order by q.seq)
          filter (where q.seq < p.seq and q.state = 'ERROR'))[1] as failed_ahead
      from posts q
      where q.org_id = p.org_id
        and (q.id = p.root_post_id or q.root_post_id = p.root_post_id)
        and ${queued(sql)}
    )`;

/**
 * The CTE `judged`: what becomes of the posts that wait in the row of `channel`, and of those that were deleted with it,
 * by the rule `policy`. `fate`: `kept` (was not in the queue), `lost` (an item ahead of it has failed), `waits` (for the
 * channel, a payment, room in the plan, or a person), `missed` (given up), `braked`, or `runs`. Found by two indexes,
 * then locked, and judged as they are then.
 */
const judged = (sql: Sql, orgId: string): Fragment => sql`
  found as (
    select p.id
    from posts p, channel c
    where p.org_id = ${orgId}
      and p.channel_id = c.id
      and ${paused(sql)}
    union all
    select p.id
    from posts p, channel c
    where p.org_id = ${orgId}
      and p.channel_id = c.id
      and ${returns(sql)}
  ), judged as (
    select p.id, ${queued(sql)} as was_queued, t.failed_ahead, coalesce(p.due_at, t.due_after) as due_at, c.brakes,
      case
        when not ${queued(sql)} then 'kept'
        when t.failed_ahead is not null then 'lost'
        when c.stopped or ${owed(sql)} or ${lacksRoom(sql)} then 'waits'
        when coalesce(p.due_at, t.due_after, t.first_due, p.publish_date) < policy.horizon
          then case policy.choice when 'drop' then 'missed' else 'waits' end
        when ${braked(sql, labelsOf(sql))} then 'braked'
        else 'runs'
      end as fate
    from found f
    join posts p on p.id = f.id
    cross join channel c
    cross join policy
    cross join lateral ${threadOf(sql)} t
    where p.org_id = ${orgId}
      and p.channel_id = c.id
      and (${paused(sql)} and not p.on_brake or ${returns(sql)} and p.state <> 'PUBLISHED')
    for update of p
  )`;

/** The CTE `touched`: the posts of `judged` as they are from now on. One that waited before, and still does, stays as it is. */
const resumed = (sql: Sql, orgId: string): Fragment => sql`
  touched as (
    update posts p
    set
      state = case when fate in ('lost', 'missed') then 'ERROR' else p.state end,
      detail = case fate
        when 'kept' then p.detail
        when 'lost' then null
        when 'missed' then 'missed'
        when 'runs' then 'scheduled'
        else 'paused' end,
      on_brake = fate = 'braked' or fate in ('kept', 'waits') and p.on_brake and ${braked(sql, labelsOf(sql))},
      error_kind = case fate when 'lost' then c.failed_ahead when 'missed' then 'missed' else p.error_kind end,
      error = case fate
        when 'lost' then ${PARENT_FAILED}
        when 'missed' then 'The channel was not connected when this post was due'
        else p.error end,
      due_at = case
        when fate in ('lost', 'missed') then null
        when fate = 'runs' and (c.due_at is not null or p.root_post_id is null)
          then greatest(coalesce(c.due_at, p.publish_date), now())
        else c.due_at end,
      deleted_at = null,
      updated_at = now()
    from judged c
    where p.org_id = ${orgId}
      and p.id = c.id
      and (fate <> 'waits' or p.deleted_at is not null)
    returning ${post.names(sql, 'fact', 'p')}, p.seq, was_queued
  )`;

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
  ${paymentPolicy(sql, orgId)}, ${judged(sql, orgId)}, ${resumed(sql, orgId)}, resumed as (
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
