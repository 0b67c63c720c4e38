import { type Addon, isSold } from '../../entitlements/index.ts';
import { type Dimension, DIMENSIONS, PLANS, TIERS } from '../../entitlements/index.ts';
import type { Charge } from '../processor/index.ts';
import type { SubscriptionRow } from '../subscriptions/index.ts';
import type { Usage } from '../../entitlements/index.ts';

const iso = (at: Date | null): string | null => at?.toISOString() ?? null;

/** The subscription of an org (S61); `extra*` are packs. */
export const presentSubscription = (row: SubscriptionRow) => ({
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

/** `GET /billing` (S62). */
export const presentBilling = ({ subscription, limits, enabled }: { subscription: SubscriptionRow | undefined; limits: Usage; enabled: boolean }) => ({
  subscription: subscription ? presentSubscription(subscription) : null,
  limits,
  billingEnabled: enabled,
});

/** What is for sale; nothing with billing off (S63, BI4). */
export const presentPackages = ({ enabled, addons }: { enabled: boolean; addons: Readonly<Record<Dimension, Addon>> }) => ({
  enabled,
  packages: enabled
    ? TIERS.map((tier) => {
        const { monthPrice, yearPrice, limits, campaigns, api, mcp, analyticsRetentionDays } = PLANS[tier];
        return { tier, monthPrice, yearPrice, ...limits, campaigns, api, mcp, analyticsRetentionDays };
      })
    : [],
  addons: enabled ? DIMENSIONS.filter(isSold).map((type) => ({ type, packSize: addons[type].packSize, priceCents: addons[type].priceCents })) : [],
});

/** One payment (S67). */
export const presentCharge = ({ id, amount, currency, created, status, refunded, amountRefunded, description, receiptUrl, invoice, invoicePdf }: Charge) => ({
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
