import type { Sql } from '../platform/db/index.ts';
import { type Admission, GB } from './admit.ts';
import type { Limit } from './limits.ts';
import * as store from './limit-store.ts';
import { type Dimension, DIMENSIONS } from './plans.ts';
import type { Entitlement } from './entitlement.ts';

/** The limits of an org with what it uses of them, by dimension; storage in GB (S62). */
export type Usage = Readonly<Record<Dimension, Limit & { used: number }>>;

/** Posts of the billing month: from the counter where it stands for this month, else from the rows. */
export async function postsUsed(
  sql: Sql,
  orgId: string,
  { anchor, month, counters }: Entitlement & { counters: store.Counters },
): Promise<number> {
  if (counters.anchor?.getTime() !== anchor.getTime()) return store.countPosts(sql, orgId, month.start);
  // nothing was admitted in this month yet
  return counters.monthStart?.getTime() === month.start.getTime() ? counters.posts : 0;
}

/** Reads rows and waits for nobody: the numbers are those of one moment before the answer. */
export async function usageOf(
  sql: Sql,
  admission: Pick<Admission, 'findEntitlement'>,
  orgId: string,
): Promise<{ entitlement: Entitlement; limits: Usage }> {
  const entitlement = await admission.findEntitlement(sql, orgId);
  const used = await Promise.all(
    DIMENSIONS.map(async (dimension) => {
      if (dimension === 'posts_per_month') return postsUsed(sql, orgId, entitlement);
      return dimension === 'storage_gb'
        ? entitlement.counters.storageBytes / GB
        : store.countRows(sql, orgId, dimension, entitlement.month);
    }),
  );
  const limits = Object.fromEntries(
    DIMENSIONS.map((dimension, n) => [dimension, { ...entitlement.limits[dimension], used: used[n]! }]),
  ) as Usage;
  return { entitlement, limits };
}
