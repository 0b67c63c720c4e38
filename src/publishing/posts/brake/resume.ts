import { type AuditActor, writeAudit } from '../../../platform/audit/index.ts';
import type { Fragment, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { owed, paymentPolicy } from '../bulk.ts';
import type { PostsDeps } from '../deps.ts';
import { catchUpHeld } from '../dispatch/catch-up.ts';
import { moment, pausedFact, timeline, withChannel } from '../journal.ts';
import type { DueChange } from '../ports.ts';
import { post } from '../row.ts';
import { braked, labelsOf, paused, waiting } from '../state.ts';
import { brakedChannels, brakeOf, type BrakeTarget, checkTarget, lockBraked } from './brakes.ts';

/** When a post goes out that a brake has held. */
export interface Resumed {
  postId: string;
  at: Date;
}

/**
 * Takes a brake away. What only it has held is planned in the same commit: of each channel in the order of the dates,
 * none before its own and none nearer to the one before it than `spacingSeconds`; of a series the latest date that has
 * gone by. What waits for a login or a payment as well waits on for that.
 */
export async function releaseBrake(
  { sql, billing, reminders, options: { horizonMs } }: Pick<PostsDeps, 'sql' | 'billing' | 'reminders' | 'options'>,
  orgId: string,
  { spacingSeconds, ...target }: BrakeTarget & { spacingSeconds: number },
  by?: AuditActor,
): Promise<Resumed[]> {
  const { plan, committed } = await sql.begin(async (tx) => {
    await billing.lockOrg(tx, orgId);
    const { key, mark } = await brakeOf(tx, orgId, target);
    const gone = await tx`delete from brakes where org_id = ${orgId} and brake = ${key}`;
    if (gone.count === 0) {
      await checkTarget(tx, orgId, target);
      return { plan: [], committed: undefined };
    }
    await lockBraked(tx, orgId, target);
    await tx`
      update channels
      set brakes = array_remove(brakes, ${mark})
      where ${brakedChannels(tx, orgId, target)}`;
    await catchUpHeld(tx, orgId, brakedChannels(tx, orgId, target));
    const planned = await planPosts(tx, orgId, target, spacingSeconds);
    const moved = await raiseChannels(tx, orgId, target, horizonMs);
    if (by)
      await writeAudit(tx, by, {
        orgId,
        action: 'posts.resumed',
        resource: 'posts',
        resourceId: target.id ?? orgId,
        detail: { scope: target.scope, resumed: planned.length },
      });
    return { plan: planned, committed: moved.length > 0 ? await reminders.within(tx, moved) : undefined };
  });
  committed?.();
  return plan;
}

/** Starts what only this brake has held, and says when each of them goes out. */
const planPosts = (sql: Sql, orgId: string, target: BrakeTarget, spacingSeconds: number): Promise<Resumed[]> => sql<
  Resumed[]
>`
  with ${paymentPolicy(sql, orgId)}, channel as (
    select id, org_id, brakes, disabled or refresh_needed as stopped
    from channels
    where ${brakedChannels(sql, orgId, target)}
  ), held as (
    select p.*, c.stopped or ${owed(sql)} as waits_on, p.due_at is null and p.root_post_id is not null as is_behind
    from posts p
    join channel c on c.id = p.channel_id
    cross join policy
    where p.org_id = ${orgId}
      and ${paused(sql)}
      and p.on_brake
      and not ${braked(sql, labelsOf(sql))}
  ), planned as (${plannedTimes(sql, spacingSeconds)}
  ), resumed as (
    update posts p
    set detail = case when h.waits_on then p.detail else 'scheduled' end,
      due_at = coalesce(t.at, p.due_at),
      on_brake = false,
      updated_at = now()
    from held h
    left join planned t on t.id = h.id
    where p.org_id = ${orgId}
      and p.id = h.id
    returning ${post.names(sql, 'fact', 'p')}, t.at
  ), ${timeline(sql, {
    from: sql`resumed where at is not null`,
    kind: 'resumed',
    message: 'The brake is off',
    data: sql`jsonb_build_object('at', ${moment(sql, sql`at`)})`,
  })}, ${announce(sql, {
    'post.resumed': {
      from: withChannel(sql, sql`(select * from resumed where at is not null)`),
      payload: pausedFact(sql, sql`'brake'`),
      order: sql`at, id`,
    },
  })}
  select id as "postId", at
  from resumed
  where at is not null
  order by at, id`;

/**
 * The times of the posts of `held` that start. With `n` before it in its channel a post is `n` spacings after the first
 * one, and after every one of those as many as lie between.
 */
const plannedTimes = (sql: Sql, spacingSeconds: number): Fragment => sql`
    select id, max(wish - after) over (partition by channel_id order by publish_date, seq) + after as at
    from (
      select id, channel_id, publish_date, seq, greatest(coalesce(due_at, publish_date), now()) as wish,
        (row_number() over (partition by channel_id order by publish_date, seq) - 1)
          * ${spacingSeconds}::float8 * interval '1 s' as after
      from held
      where not waits_on
        and not is_behind
    ) wished`;

/** Writes the next due times of the channels; answers the reminders that have to move. */
const raiseChannels = (sql: Sql, orgId: string, target: BrakeTarget, horizonMs: number) => sql<DueChange[]>`
  with next as (
    select c.id, min(p.due_at) as due_at
    from channels c
    join posts p on p.org_id = c.org_id and p.channel_id = c.id
    where c.id in (select id from channels where ${brakedChannels(sql, orgId, target)})
      and c.org_id = ${orgId}
      and not c.disabled
      and not c.refresh_needed
      and c.deleted_at is null
      and ${waiting(sql)}
      and not ${braked(sql, labelsOf(sql))}
    group by c.id
  ), raised as (
    update channels c
    set next_due_at = n.due_at,
      reminder_due_at = case
        when n.due_at <= now() + ${horizonMs}::float8 * interval '1 ms' then n.due_at
        else c.reminder_due_at end,
      due_version = c.due_version + 1
    from next n
    where c.org_id = ${orgId}
      and c.id = n.id
    returning c.org_id, c.id, n.due_at
  )
  select org_id as "orgId", id as "channelId", due_at as "dueAt"
  from raised
  where due_at <= now() + ${horizonMs}::float8 * interval '1 ms'`;
