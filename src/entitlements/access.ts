import { AppError } from '../platform/kernel/index.ts';
import { PLANS, type Tier } from './plans.ts';
import { isActive } from './entitlement.ts';

/** The part of a subscription that decides about access; both null without one. */
export interface Subscribed {
  tier: Tier | null;
  graceEndsAt: Date | null;
}
export type Feature = 'campaigns' | 'api' | 'mcp';

const NAMES: Readonly<Record<Feature, string>> = { campaigns: 'campaigns', api: 'the API', mcp: 'MCP' };
const planRequired = (feature: Feature) =>
  new AppError('plan_required', `Your plan does not include ${NAMES[feature]}`);

/** The plan under which a client of an org works; 401 where the org has no active subscription (AU10). */
export function planOf({ tier, graceEndsAt }: Subscribed, now: Date): Tier {
  if (tier === null || !isActive(graceEndsAt, now)) throw new AppError('no_subscription', 'No subscription found');
  return tier;
}

/** Throws `plan_required` where a plan does not have the feature (S58). */
export function requireFeature(tier: Tier, feature: Feature): void {
  if (!PLANS[tier][feature]) throw planRequired(feature);
}
