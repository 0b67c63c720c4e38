import type { AuditActor } from '../../../platform/audit/index.ts';
import type { Database, Sql } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { catchUpStopped, orgIsDisabled, pausePosts, resumePosts } from '../../posts/index.ts';
import {
  auditChannel,
  channelFact,
  clearedDueTime,
  factColumns,
  type LockedChannel,
  nextDueTime,
  type StartDeps,
  withLockedChannel,
} from './locked-channel.ts';

/** Why a channel was stopped, in the event `channel.disabled`. */
type Why = 'person' | 'plan';
const STOPPED: Record<Why, string> = {
  person: 'The channel was disabled',
  plan: 'The plan has no room for this channel',
};

/** Stops a channel whose row is locked, and the posts that wait in it. False: it is stopped already, or deleted. */
async function stop(sql: Sql, orgId: string, id: string, why: Why): Promise<boolean> {
  const rows = await sql`
    with channel as (
      update channels
      set disabled = true, ${clearedDueTime(sql)}
      where org_id = ${orgId}
        and id = ${id}
        and deleted_at is null
        and not disabled
      returning ${factColumns(sql)}
    ), ${pausePosts(sql, STOPPED[why])}, ${announce(sql, {
      'channel.disabled': { from: sql`channel`, payload: { ...channelFact(sql), reason: sql`${why}::text` } },
    })}
    select id
    from channel`;
  return rows.length > 0;
}

/** Stops a channel and the posts that wait in it. False: it is stopped already, or deleted. */
export const disable = (database: Database, orgId: string, id: string, by?: AuditActor): Promise<boolean> =>
  withLockedChannel(database, orgId, { id }, async (sql) => {
    const held = await stop(sql, orgId, id, 'person');
    if (held) await auditChannel(sql, orgId, by, 'disabled', id);
    return held;
  });

/** Stops the channels that a plan has no room for; in the transaction that lowered it. */
export async function disableForPlan(sql: Sql, orgId: string, ids: readonly string[]): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and id = any(${[...ids]}::uuid[]) order by id for update`;
  for (const id of ids) await stop(sql, orgId, id, 'plan');
}

/**
 * Stops every channel of an org that is taken out of use, in the transaction that does so; whoever brings it back
 * starts them again.
 */
export async function stopAll(sql: Sql, orgId: string, message: string): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and deleted_at is null order by id for update`;
  await sql`
    with channel as (
      update channels
      set disabled = true, ${clearedDueTime(sql)}
      where org_id = ${orgId}
        and deleted_at is null
        and not disabled
      returning ${factColumns(sql)}
    ), ${pausePosts(sql, message)}
    select 1
    from channel`;
}

/**
 * Starts a disabled channel, and the posts that wait in it unless it needs a login or its org is disabled. False: it is
 * not disabled, or deleted. 402 where the plan has no room for it.
 */
export function enable(
  database: Database,
  { billing: plan, followUps }: StartDeps,
  orgId: string,
  id: string,
  by?: AuditActor,
): Promise<boolean> {
  const start = async (sql: Sql, found: LockedChannel | undefined): Promise<boolean> => {
    if (found?.disabled && !found.deleted && !found.refreshNeeded) {
      await plan.admit(sql, orgId, 'channel');
      await catchUpStopped(sql, orgId, id);
    }
    const rows = await sql`
      with channel as (
        select id, org_id, refresh_needed or ${orgIsDisabled(sql)} as stopped, brakes, deleted_at
        from channels c
        where org_id = ${orgId}
          and id = ${id}
          and deleted_at is null
          and disabled
        for update
      ), ${resumePosts(sql, orgId, followUps)}
      update channels c
      set disabled = false, ${nextDueTime(sql)}
      from channel o, next
      where c.org_id = ${orgId}
        and c.id = o.id
      returning c.id`;
    if (rows.length > 0) await auditChannel(sql, orgId, by, 'enabled', id);
    return rows.length > 0;
  };
  return withLockedChannel(database, orgId, { id }, start, plan);
}
