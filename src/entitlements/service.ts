import type { AuditActor } from '../platform/audit/index.ts';
import type { Database, Sql } from '../platform/db/index.ts';
import { type Feature, planOf, requireFeature, type Subscribed } from './access.ts';
import { type Admission, openAdmission } from './admit.ts';
import { type Credits, openCredits } from './credits.ts';
import * as store from './limit-store.ts';
import type { Overrides, PackSizes } from './limits.ts';
import { changeLimits, overrideLimits } from './override.ts';
import { openLimitEnforcement, type LimitEnforcement } from './enforce-limits.ts';
import type { Stop } from './ports.ts';
import { PLANS, type Tier } from './plans.ts';
import { type PostQuota, quotaOf } from './quota.ts';
import { type Usage, usageOf } from './usage.ts';
import type { Entitlement } from './entitlement.ts';

export interface BillingOptions {
  sql: Database;
  /** PAYMENTS_PUBLISHABLE_KEY is given. */
  enabled: boolean;
  addons: PackSizes;
  /** Stops what a lower limit leaves no room for, in the rooms that own it. */
  stop: Stop;
}

/** The plan of an org as a console shows it. */
export interface ShownPlan {
  tier: Tier;
  isLifetime: boolean;
  isTrialing: boolean;
  totalChannels: number;
  billingEnabled: boolean;
}
/** With billing off every org is on AGENCY (S216). */
const AGENCY: ShownPlan = {
  tier: 'AGENCY',
  isLifetime: false,
  isTrialing: false,
  totalChannels: PLANS.AGENCY.limits.channel,
  billingEnabled: false,
};

/** Entitlements: plans, limits, usage and admission. */
export interface Billing extends Admission, LimitEnforcement, Credits {
  /** The room for posts, for the turn of the Organization that admits them. */
  quota(orgId: string): Promise<PostQuota & { used: number }>;
  /** The numbers of `GET /billing` (S62). */
  usage(orgId: string): Promise<{ entitlement: Entitlement; limits: Usage }>;
  /**
   * Sets, clears and keeps limits of an org by hand (S76), with an entry of the audit log. 400 naming the key, and
   * nothing applied, for an unknown one. What a lower one leaves no room for stays; nothing more is admitted.
   */
  overrideLimits(orgId: string, by: AuditActor, change: Readonly<Record<string, number | null>>): Promise<Overrides>;
  /** The same in the caller's transaction, without the entry. */
  override(sql: Sql, orgId: string, change: Readonly<Record<string, number | null>>): Promise<Overrides>;
  /** The plan as a console shows it (S42). */
  shown(orgId: string): Promise<ShownPlan>;
  /**
   * The plan under which a client of an org works, by what its look-up brought; 401 where there is no active
   * subscription (AU10).
   */
  planOf(org: Subscribed, now: Date): Tier;
  /** Throws `plan_required` where the org's plan does not have the feature (S58). */
  require(sql: Sql, orgId: string, feature: Feature): Promise<void>;
  /**
   * At the start of a process: without billing nobody counts posts, and what was counted before is out of date from now
   * on.
   */
  begin(): Promise<void>;
}

/** The room of billing. */
export function openBilling({ sql, enabled, addons, stop }: BillingOptions): Billing {
  const admission = openAdmission({ enabled, sizes: addons });
  const override: Billing['override'] = (tx, orgId, change) => changeLimits(tx, admission, orgId, change);
  return {
    ...admission,
    ...openLimitEnforcement(admission, stop),
    ...openCredits(admission),
    quota: (orgId) => quotaOf(sql, admission, orgId),
    usage: (orgId) => usageOf(sql, admission, orgId),
    override,
    overrideLimits: (orgId, by, change) => overrideLimits({ sql, admission }, orgId, by, change),
    async shown(orgId) {
      if (!enabled) return AGENCY;
      const { facts, tier, limits } = await admission.findEntitlement(sql, orgId);
      const { isLifetime = false, isTrial = false } = facts.subscription ?? {};
      return { tier, isLifetime, isTrialing: isTrial, totalChannels: limits.channel.effective, billingEnabled: true };
    },
    planOf: (org, now) => (enabled ? planOf(org, now) : 'AGENCY'),
    async require(tx, orgId, feature) {
      if (enabled) requireFeature((await admission.findEntitlement(tx, orgId)).tier, feature);
    },
    async begin() {
      if (enabled) return;
      await store.forgetMonths(sql);
      await store.forgetLapses(sql);
    },
  };
}
