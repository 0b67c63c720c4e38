import { z } from 'zod';
import {
  type Addon,
  DIMENSIONS,
  type Dimension as DimensionName,
  PLANS,
  TIERS,
  type Usage,
} from '../../../src/entitlements/index.ts';
import type { Charge as ChargeRow } from '../../../src/billing/processor/index.ts';
import { PERIODS, type SubscriptionRow } from '../../../src/billing/subscriptions/index.ts';
import { instant } from '../../http/fields.ts';

export const packs = z.int().min(0);
export const Dimension = z.enum(DIMENSIONS);
export const Tier = z.enum(TIERS);

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

export const Subscription = z.strictObject({
  id: z.string(),
  organizationId: z.string(),
  subscriptionTier: Tier,
  period: z.enum(PERIODS),
  identifier: z.string(),
  totalChannels: z.int(),
  extraStorage: packs,
  extraVideoExports: packs,
  extraChannels: packs,
  extraTeamSeats: packs,
  extraPosts: packs,
  extraBrandKits: packs,
  extraWebhooks: packs,
  extraCompetitors: packs,
  limitOverrides: z.record(z.string(), z.int()),
  pendingTier: Tier.nullable(),
  gracePeriodEnd: instant.nullable(),
  isLifetime: z.boolean(),
  isTrial: z.boolean(),
  trialEndsAt: instant.nullable(),
  cancelAt: instant.nullable(),
  createdAt: instant,
  updatedAt: instant,
  deletedAt: instant.nullable(),
});

/** The subscription of an org (S61); `extra*` are packs. */
export const presentSubscription = (row: SubscriptionRow): z.input<typeof Subscription> => ({
  id: row.id,
  organizationId: row.organizationId,
  subscriptionTier: row.tier,
  period: row.period,
  identifier: row.identifier,
  totalChannels: row.totalChannels,
  extraStorage: row.extraStorage,
  extraVideoExports: row.extraVideoExports,
  extraChannels: row.extraChannels,
  extraTeamSeats: row.extraTeamSeats,
  extraPosts: row.extraPosts,
  extraBrandKits: row.extraBrandKits,
  extraWebhooks: row.extraWebhooks,
  extraCompetitors: row.extraCompetitors,
  limitOverrides: row.limitOverrides,
  pendingTier: row.pendingTier,
  gracePeriodEnd: iso(row.gracePeriodEnd),
  isLifetime: row.isLifetime,
  isTrial: row.isTrial,
  trialEndsAt: iso(row.trialEndsAt),
  cancelAt: iso(row.cancelAt),
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  deletedAt: iso(row.deletedAt),
});

const Limit = z.strictObject({
  plan: z.int(),
  addons: z.int(),
  override: z.int().nullable(),
  effective: z.int(),
  used: z.number(),
});
export const BillingOverview = z.strictObject({
  subscription: Subscription.nullable(),
  limits: z.record(Dimension, Limit),
  billingEnabled: z.boolean(),
});

/** `GET /billing` (S62). */
export const presentBilling = ({
  subscription,
  limits,
  enabled,
}: {
  subscription: SubscriptionRow | undefined;
  limits: Usage;
  enabled: boolean;
}): z.input<typeof BillingOverview> => ({
  subscription: subscription ? presentSubscription(subscription) : null,
  limits,
  billingEnabled: enabled,
});

const Package = z.strictObject({
  tier: Tier,
  monthPrice: z.int(),
  yearPrice: z.int(),
  channel: z.int(),
  posts_per_month: z.int(),
  team_members: z.int(),
  brand_kits: z.int(),
  campaigns: z.boolean(),
  api: z.boolean(),
  mcp: z.boolean(),
  webhooks: z.int(),
  competitors: z.int(),
  analyticsRetentionDays: z.int(),
  video_exports: z.int(),
  storage_gb: z.int(),
});
export const PriceList = z.strictObject({
  enabled: z.boolean(),
  packages: z.array(Package),
  addons: z.array(z.strictObject({ type: Dimension, packSize: z.int(), priceCents: z.int() })),
});

/** Lists what is for sale; nothing with billing off (S63, BI4). */
export const presentPackages = ({
  enabled,
  addons,
}: {
  enabled: boolean;
  addons: Readonly<Record<DimensionName, Addon>>;
}): z.input<typeof PriceList> => ({
  enabled,
  packages: enabled
    ? TIERS.map((tier) => {
        const { monthPrice, yearPrice, limits, campaigns, api, mcp, analyticsRetentionDays } = PLANS[tier];
        return { tier, monthPrice, yearPrice, ...limits, campaigns, api, mcp, analyticsRetentionDays };
      })
    : [],
  addons: enabled
    ? DIMENSIONS.map((type) => ({
        type,
        packSize: addons[type].packSize,
        priceCents: addons[type].priceCents,
      }))
    : [],
});

export const Charge = z.strictObject({
  id: z.string(),
  amount: z.int(),
  currency: z.string(),
  created: z.int(),
  status: z.string(),
  refunded: z.boolean(),
  amount_refunded: z.int(),
  description: z.string().nullable(),
  receipt_url: z.string().nullable(),
  invoice: z.string().nullable(),
  invoice_pdf: z.string().nullable(),
});

/** One payment (S67). */
export const presentCharge = ({
  id,
  amount,
  currency,
  created,
  status,
  refunded,
  amountRefunded,
  description,
  receiptUrl,
  invoice,
  invoicePdf,
}: ChargeRow): z.input<typeof Charge> => ({
  id,
  amount,
  currency,
  created,
  status,
  refunded,
  amount_refunded: amountRefunded,
  description,
  receipt_url: receiptUrl,
  invoice,
  invoice_pdf: invoicePdf,
});
