import type { Database } from '../../../src/platform/db/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';

/** Settings with which billing is on. */
export const WITH_BILLING = {
  PAYMENTS_PUBLISHABLE_KEY: 'pk_test_1',
  PAYMENTS_SECRET_KEY: 'sk_test_1',
  PAYMENTS_SIGNING_KEY: 'whsec_1',
};

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
