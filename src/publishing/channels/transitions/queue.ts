import type { Sql } from '../../../platform/db/index.ts';
import { catchUpStopped, pausePosts, resumePosts } from '../../posts/index.ts';
import { clearedDueTime, factColumns, nextDueTime, type StartDeps } from './locked-channel.ts';

/**
 * Stops the posts that wait in the channels of an org, in the transaction that decides so; the channels themselves work
 * on.
 */
export async function pauseQueue(
  sql: Sql,
  orgId: string,
  message: string,
  reason: 'billing' | 'instance' = 'billing',
): Promise<void> {
  await sql`select 1 from channels where org_id = ${orgId} and deleted_at is null order by id for update`;
  await sql`
    with channel as (
      update channels
      set ${clearedDueTime(sql)}, due_version = due_version + 1
      where org_id = ${orgId}
        and deleted_at is null
        and not disabled
        and not refresh_needed
      returning ${factColumns(sql)}
    ), ${pausePosts(sql, message, reason)}
    select 1
    from channel`;
}

/**
 * Starts the posts that wait in the working channels of an org, after `pauseQueue`, unless the org is disabled; what is
 * late meanwhile follows the org's rule (S135).
 */
export async function resumeQueue(
  { followUps }: Pick<StartDeps, 'followUps'>,
  sql: Sql,
  orgId: string,
  reason: 'billing' | 'instance' = 'billing',
): Promise<void> {
  const working = await sql<{ id: string }[]>`
    select id
    from channels
    where org_id = ${orgId} and deleted_at is null and not disabled and not refresh_needed
      and not exists (select 1 from organizations o where o.id = ${orgId} and o.disabled_at is not null)
    order by id
    for update`;
  for (const { id } of working) {
    await catchUpStopped(sql, orgId, id);
    await sql`
      with channel as (
        select id, org_id, false as stopped, brakes, deleted_at
        from channels
        where org_id = ${orgId}
          and id = ${id}
      ), ${resumePosts(sql, orgId, followUps, reason)}
      update channels c
      set ${nextDueTime(sql)}
      from channel o, next
      where c.org_id = ${orgId}
        and c.id = o.id`;
  }
}
