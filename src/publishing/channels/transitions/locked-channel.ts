import type { Billing } from '../../../entitlements/index.ts';
import { type AuditActor, writeAudit } from '../../../platform/audit/index.ts';
import type { Database, Fragment, Sql } from '../../../platform/db/index.ts';
import type { FollowUpsPort } from '../../posts/index.ts';

// Locks are taken in this order: what counts for the org, where the transition may raise it, the channel's row, the
// choice that becomes it, then its posts. What becomes of the posts is in `posts/bulk.ts` and `posts/resume.ts`: CTEs over the CTE `channel` of
// each statement.

/**
 * Makes a move with the channel's row locked before its statement looks at anything: one that waited for the lock in
 * its midst would see the posts as they were before it waited, and leave some of them standing.
 */
export async function withLockedChannel<R>(
  sql: Database,
  orgId: string,
  channel: { id: string } | { providerId: string; internalId: string },
  move: (transaction: Sql, found: LockedChannel | undefined) => Promise<R>,
  plan?: ChannelPlan,
): Promise<R> {
  const results: R[] = [];
  await sql.begin(async (transaction) => {
    await plan?.lockOrg(transaction, orgId);
    const which =
      'id' in channel
        ? transaction`id = ${channel.id}`
        : transaction`provider_id = ${channel.providerId} and internal_id = ${channel.internalId}`;
    const [found] = await transaction<LockedChannel[]>`
      select id, disabled, refresh_needed as "refreshNeeded", deleted_at is not null as deleted
      from channels
      where org_id = ${orgId}
        and ${which}
      for update`;
    results.push(await move(transaction, found));
  });
  return results[0]!;
}
/** The row as it was locked. */
export interface LockedChannel {
  id: string;
  disabled: boolean;
  refreshNeeded: boolean;
  deleted: boolean;
}
export type ChannelPlan = Pick<Billing, 'lockOrg' | 'admit'>;
/** What the transitions that start posts are handed. */
export interface StartDeps {
  billing: ChannelPlan;
  followUps: Pick<FollowUpsPort, 'plan'>;
}

/** What a person did, in the commit of the move; moves that the service makes by itself have no actor. */
export async function auditChannel(
  sql: Sql,
  orgId: string,
  by: AuditActor | undefined,
  done: string,
  id: string,
  detail = {},
): Promise<void> {
  if (by) await writeAudit(sql, by, { orgId, action: `channel.${done}`, resource: 'channels', resourceId: id, detail });
}

/** What the CTE `channel` of a statement holds of the rows that it changed. */
export const factColumns = (sql: Sql): Fragment => sql`id, org_id, provider_id, name`;

/** What every fact of a channel says, from the CTE `channel`. */
export const channelFact = (sql: Sql) => ({ providerId: sql`provider_id`, name: sql`name` });

/** A channel that stands still has no due time. */
export const clearedDueTime = (sql: Sql): Fragment =>
  sql`next_due_at = null, reminder_due_at = null, updated_at = now()`;

/** The channel `c` is due with its next post, as `resumePosts` found it; it is `o`, and not due where that is stopped. */
export const nextDueTime = (sql: Sql): Fragment => sql`
  next_due_at = case when o.stopped then null else next.due_at end, reminder_due_at = null,
  due_version = c.due_version + 1, updated_at = now()`;
