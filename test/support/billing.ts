import { addonsOf, type Billing, openBilling } from '../../src/billing/index.ts';
import { disableForPlan as disableChannels } from '../../src/channels/index.ts';
import { type Config, readConfig } from '../../src/config/index.ts';
import type { Database } from '../../src/db/index.ts';
import { newId } from '../../src/kernel/index.ts';
import { disableForPlan as disableMembers } from '../../src/members/index.ts';

/** Settings with which billing is on. */
export const WITH_BILLING = { PAYMENTS_PUBLISHABLE_KEY: 'pk_test_1', PAYMENTS_SECRET_KEY: 'sk_test_1', PAYMENTS_SIGNING_KEY: 'whsec_1' };

const settings = (env: Record<string, string>) => readConfig({ JWT_SECRET: 'x'.repeat(32), ...env }).config;

/** The limits of billing as the product opens them; off unless a configuration says otherwise. */
export const testBilling = (sql: Database, config: Pick<Config, 'payments' | 'addons'> = settings({})): Billing =>
  openBilling({
    sql,
    enabled: config.payments.publishableKey !== undefined,
    addons: addonsOf(config.addons),
    stop: { channels: disableChannels, members: disableMembers },
  });
export const billingOn = (sql: Database): Billing => testBilling(sql, settings(WITH_BILLING));

interface Given {
  tier?: 'STARTER' | 'PRO' | 'TEAM' | 'AGENCY';
  createdAt?: Date;
  graceEndsAt?: Date | null;
  /** Columns of packs: `extra_posts: 2`. */
  packs?: Record<string, number>;
}
/** Gives an org a subscription, in the place of the one it has. */
export async function subscribe(
  sql: Database,
  orgId: string,
  { tier = 'STARTER', createdAt = new Date(), graceEndsAt = null, packs = {} }: Given = {},
): Promise<void> {
  const row = {
    id: newId(),
    org_id: orgId,
    tier,
    period: 'MONTHLY',
    identifier: 'test',
    total_channels: 0,
    created_at: createdAt,
    grace_period_end: graceEndsAt,
    ...packs,
  };
  await sql.begin(async (tx) => {
    await tx`delete from subscriptions where org_id = ${orgId}`;
    await tx`insert into subscriptions ${tx(row)}`;
  });
}
/** Sets limits of an org by hand. */
export const override = (sql: Database, orgId: string, overrides: Record<string, number>) =>
  sql`update organizations set limit_overrides = ${JSON.stringify(overrides)}::text::jsonb where id = ${orgId}`;
