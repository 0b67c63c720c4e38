import type { Database } from '../platform/db/index.ts';
import type { Admission } from './admit.ts';
import * as store from './limit-store.ts';
import { postsUsed } from './usage.ts';

/**
 * The condition under which a batch of posts commits: while the rows still say this, up to `max` posts may be there.
 */
export interface PostQuota {
  /** The version of the rows that the limit comes from. */
  entitlementVersion: string;
  anchor: Date;
  monthStart: Date;
  until: Date;
  max: number;
}

/**
 * The room that an org has for posts, and how many it has used of it; its billing month begins with the first look at
 * it.
 */
export async function quotaOf(
  sql: Database,
  admission: Pick<Admission, 'findEntitlement'>,
  orgId: string,
): Promise<PostQuota & { used: number }> {
  const found = await admission.findEntitlement(sql, orgId);
  const begun =
    found.counters.anchor?.getTime() === found.anchor.getTime() &&
    found.counters.monthStart?.getTime() === found.month.start.getTime();
  return begun
    ? asQuota(found, found.counters.posts)
    : sql.begin(async (tx) => {
        await store.lockCounters(tx, orgId);
        const current = await admission.findEntitlement(tx, orgId); // read again under the lock
        const posts = await postsUsed(tx, orgId, current);
        await store.beginMonth(tx, orgId, { anchor: current.anchor, start: current.month.start, posts });
        return asQuota(current, posts);
      });
}

const asQuota = (
  { entitlementVersion, anchor, month, until, limits }: Awaited<ReturnType<Admission['findEntitlement']>>,
  used: number,
): PostQuota & { used: number } => ({
  entitlementVersion,
  anchor,
  monthStart: month.start,
  until,
  max: limits.posts_per_month.effective,
  used,
});
