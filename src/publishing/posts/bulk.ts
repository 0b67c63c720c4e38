import type { Fragment, Sql } from '../../platform/db/index.ts';
import { announce, type Payload } from '../../platform/outbox/index.ts';
import { deletedFact, pausedFact, timeline, withChannel } from './journal.ts';
import { post } from './row.ts';
import { braked, inFlight, labelsOf, waiting } from './state.ts';

// CTEs for statements that stop and delete channels, over the CTE `channel (id, org_id)` of locked rows. Posts
// on their way are left to those who publish them.

/**
 * Pauses the posts that wait in the rows of `channel`, and writes down why. For a brake `channel` has its `brakes` as
 * well, and only what one of them stands on is paused.
 */
export const pausePosts = (
  sql: Sql,
  message: string,
  reason: Payload<'post.paused'>['reason'] = 'channel',
): Fragment => sql`
  paused as (
    update posts p
    set detail = 'paused', on_brake = ${reason === 'brake'}, updated_at = now()
    from channel c
    where p.org_id = c.org_id
      and p.channel_id = c.id
      and ${waiting(sql)}
      ${reason === 'brake' ? sql`and ${braked(sql, labelsOf(sql))}` : sql``}
    returning ${post.names(sql, 'fact', 'p')}
  ), ${timeline(sql, { from: sql`paused`, kind: 'paused', message })}, ${announce(sql, {
    'post.paused': {
      from: withChannel(sql, sql`paused`),
      payload: pausedFact(sql, sql`${reason}::text`),
      order: sql`id`,
    },
  })}`;

/** Deletes the unpublished posts of the rows of `channel`. */
export const dropPosts = (sql: Sql, message: string): Fragment => sql`
  deleted as (
    update posts p
    set deleted_at = now(), updated_at = now()
    from channel c
    where p.org_id = c.org_id
      and p.channel_id = c.id
      and p.state <> 'PUBLISHED'
      and p.deleted_at is null
      and not ${inFlight(sql)}
    returning ${post.names(sql, 'fact', 'p')}
  ), ${timeline(sql, { from: sql`deleted`, kind: 'cancelled', message })}, ${announce(sql, {
    'post.deleted': {
      from: withChannel(sql, sql`deleted`),
      payload: deletedFact(sql),
      order: sql`id`,
    },
  })}`;

// A post that waited in a stopped channel and is late: up to 24 h it is published (`publish`), else a person decides
// (`ask`: it stays paused), or it is given up (`drop`). S135. What an org had queued when its grace period ended unpaid
// waits for the payment, whatever is done to its channels, also once its subscription was given up (S80).
export const paymentPolicy = (sql: Sql, orgId: string): Fragment => sql`
  policy as (
    select choice,
      case choice when 'publish' then now() - interval '24 hours' else now() end as horizon,
      coalesce((select grace_period_end from subscriptions where org_id = ${orgId} and lapsed), given_up) as unpaid_since
    from (
      select coalesce(settings->>'reconnectPolicy', 'publish') as choice, unpaid_since as given_up
      from organizations
      where id = ${orgId}
    ) o
  )`;
/** The organization owes the payment that the post `alias` waits for; `policy` as above. */
export const owed = (sql: Sql, alias = 'p'): Fragment =>
  sql`coalesce(${sql(alias)}.created_at < policy.unpaid_since, false)`;

/** The post `p` was deleted with its channel `c`, no longer ago than it comes back with it. */
export const returns = (sql: Sql): Fragment =>
  sql`(p.deleted_at = c.deleted_at and c.deleted_at > now() - interval '30 days')`;
