import { type Limit, limitsOf, type Overrides, type Packs, type PackSizes } from './limits.ts';
import { type Month, monthOf } from './month.ts';
import { type Dimension, PLANS, type Tier } from './plans.ts';

/** The rows that an entitlement is computed from. */
export interface Facts {
  /** By the database's clock. */
  now: Date;
  orgCreatedAt: Date;
  overrides: Overrides;
  subscription: {
    tier: Tier;
    createdAt: Date;
    packs: Packs;
    graceEndsAt: Date | null;
    isLifetime: boolean;
    isTrial: boolean;
  } | null;
}

/** The entitlement of an organization at one moment: tier, limits, billing month. */
export interface Entitlement {
  tier: Tier;
  /** True with an active subscription: then keys and tokens work. */
  subscribed: boolean;
  limits: Readonly<Record<Dimension, Limit>>;
  /** The instant from which billing months are counted. */
  anchor: Date;
  month: Month;
  /** Up to this instant the rows mean the same. */
  until: Date;
}

export const NO_PACKS: Packs = {
  channel: 0,
  team_members: 0,
  posts_per_month: 0,
  brand_kits: 0,
  webhooks: 0,
  competitors: 0,
  storage_gb: 0,
  video_exports: 0,
};

/** Tells whether a subscription counts: after its grace period an unpaid one does not (S80). */
export const isActive = (graceEndsAt: Date | null, now: Date): boolean => graceEndsAt === null || graceEndsAt > now;

/**
 * Without an active subscription an org has STARTER's limits, and overrides stay (S217); with billing off it has
 * AGENCY's as they are in the table (S216).
 */
export function entitlementOf(
  { now, orgCreatedAt, overrides, subscription }: Facts,
  sizes: PackSizes,
  enabled: boolean,
): Entitlement {
  const subscribed = subscription !== null && isActive(subscription.graceEndsAt, now);
  const anchor = subscription?.createdAt ?? orgCreatedAt;
  const month = monthOf(anchor, now);
  const ends = subscribed ? subscription.graceEndsAt : null;
  const until = ends && ends < month.end ? ends : month.end;
  if (!enabled)
    return {
      tier: 'AGENCY',
      subscribed: true,
      limits: limitsOf(PLANS.AGENCY, NO_PACKS, sizes, {}),
      anchor,
      month,
      until,
    };
  const tier = subscribed ? subscription.tier : 'STARTER';
  return {
    tier,
    subscribed,
    limits: limitsOf(PLANS[tier], subscribed ? subscription.packs : NO_PACKS, sizes, overrides),
    anchor,
    month,
    until,
  };
}
