import type { Sql } from '../platform/db/index.ts';
import { limitExceeded, notFound } from '../platform/kernel/index.ts';
import { CEILINGS, type PackSizes } from './limits.ts';
import * as store from './limit-store.ts';
import type { Dimension, Tier } from './plans.ts';
import { NO_PACKS, type Entitlement, entitlementOf } from './entitlement.ts';

/** The dimensions that are admitted row by row. Posts are admitted by the Organization, many creates in one commit. */
export type CountedDimension = Exclude<Dimension, 'posts_per_month'>;

export const GB = 1024 ** 3;

/** A subscription that is not there yet. */
const NONE = { createdAt: new Date(0), packs: NO_PACKS, isLifetime: false, isTrial: false };

export interface Admission {
  /** False without PAYMENTS_PUBLISHABLE_KEY: only the ceilings hold (S216). */
  readonly enabled: boolean;
  /**
   * Locks what counts for the org until the transaction ends. `admit` does it, too: only whoever locks other rows of
   * the org before admitting calls it first, so that all lock in one order.
   */
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  /**
   * Throws `limit_exceeded` when the org may not have `more` of what is counted, or reaches a ceiling; in the caller's
   * transaction, before the insert. Bytes for `storage_gb`.
   */
  admit(sql: Sql, orgId: string, dimension: CountedDimension, more?: number): Promise<void>;
  /** The entitlement of the org now, with its counters. */
  findEntitlement(sql: Sql, orgId: string): Promise<Entitlement & store.FoundEntitlement>;
  /** The limits that the org would have on that plan; null: without a subscription. */
  limitsOn(sql: Sql, orgId: string, tier: Tier | null): Promise<Entitlement['limits']>;
}

export function openAdmission({ enabled, sizes }: { enabled: boolean; sizes: PackSizes }): Admission {
  async function find(sql: Sql, orgId: string): Promise<store.FoundEntitlement> {
    const found = await store.findEntitlementFacts(sql, orgId);
    if (!found) throw notFound();
    return found;
  }
  const findEntitlement: Admission['findEntitlement'] = async (sql, orgId) => {
    const found = await find(sql, orgId);
    return { ...entitlementOf(found.facts, sizes, enabled), ...found };
  };
  const lockOrg: Admission['lockOrg'] = store.lockCounters;
  return {
    enabled,
    lockOrg,
    findEntitlement,
    async limitsOn(sql, orgId, tier) {
      const { facts } = await find(sql, orgId);
      const { subscription } = facts;
      return entitlementOf(
        { ...facts, subscription: tier && { ...(subscription ?? NONE), tier, graceEndsAt: null } },
        sizes,
        enabled,
      ).limits;
    },
    async admit(sql, orgId, dimension, more = 1) {
      const ceiling = CEILINGS[dimension];
      if (!enabled && ceiling === undefined) return;
      await lockOrg(sql, orgId); // what is read after this stays true until the transaction ends
      if (
        dimension !== 'storage_gb' &&
        ceiling !== undefined &&
        (await store.countRows(sql, orgId, dimension)) + more > ceiling
      )
        throw limitExceeded(dimension, ceiling);
      if (!enabled) return;
      const { limits, counters, month } = await findEntitlement(sql, orgId);
      const max = limits[dimension].effective;
      const fits =
        dimension === 'storage_gb'
          ? counters.storageBytes + more <= max * GB
          : (await store.countRows(sql, orgId, dimension, month)) + more <= max;
      if (!fits) throw limitExceeded(dimension, max);
    },
  };
}
