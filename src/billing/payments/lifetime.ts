import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, newId } from '../../platform/kernel/index.ts';
import { PLANS, type Tier } from '../../entitlements/index.ts';
import type { Apply, ApplyNeeds } from '../subscriptions/index.ts';
import { subscriptionStore as store } from '../subscriptions/index.ts';
import type { SubscriptionRow } from '../subscriptions/index.ts';
import type { Tasks } from './tasks.ts';

/** Signs and reads the codes: tokens of audience `lifetime` with a `jti`. */
export interface Codes {
  sign(jti: string): Promise<string>;
  /** Undefined for anything that is not such a code of ours. */
  read(code: string): Promise<{ jti: string } | undefined>;
}
export interface LifetimeNeeds {
  sql: Database;
  codes: Codes;
  apply: Apply;
  tasks: Tasks;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  enforceLimits: ApplyNeeds['enforceLimits'];
  resumePosts: ApplyNeeds['resumePosts'];
}

const refused = (message: string) => new AppError('invalid_request', message, { success: false });

/** False: used before. Written down in plain text (BI10). */
async function useCode(
  sql: Sql,
  orgId: string,
  { jti, code, userId }: { jti: string; code: string; userId: string | null },
): Promise<boolean> {
  const rows = await sql`
    insert into lifetime_codes (jti, code, org_id, user_id)
    values (${jti}, ${code}, ${orgId}, ${userId})
    on conflict (jti) do nothing
    returning 1`;
  return rows.length > 0;
}

/** Plans that nobody pays for by the month: by a code, or from an operator. */
export function openLifetime({ sql, codes, apply, tasks, lockOrg, enforceLimits, resumePosts }: LifetimeNeeds) {
  const planOf = (
    row: SubscriptionRow | undefined,
    tier: Tier,
    identifier: string,
    isLifetime: boolean,
  ): store.PlanState => ({
    id: row?.id ?? newId(),
    tier,
    period: row?.period ?? 'MONTHLY',
    identifier,
    processorId: null,
    totalChannels: PLANS[tier].limits.channel,
    pendingTier: null,
    pendingFrom: null,
    isLifetime,
    isTrial: false,
    trialEndsAt: null,
    cancelAt: null,
    currentPeriodEnd: null,
  });

  return {
    /** AGENCY for life (BI38). What was paid by the month until now ends, and its rest is credited; packs go on. */
    async redeem(orgId: string, by: AuditActor, code: string): Promise<void> {
      const known = await codes.read(code);
      if (!known) throw refused('This code is not valid');
      await sql.begin(async (tx) => {
        await lockOrg(tx, orgId);
        const row = await store.findSubscription(tx, orgId);
        if (row?.isLifetime) throw refused('This organization has its plan for life already');
        if (!(await useCode(tx, orgId, { jti: known.jti, code, userId: by.userId })))
          throw refused('This code has been used');
        if (row?.processorId) await apply.endLater(tx, orgId, row.processorId);
        await store.endGrace(tx, orgId);
        await store.savePlan(tx, orgId, planOf(row, 'AGENCY', known.jti, true));
        await store.sumPacks(tx, orgId);
        await enforceLimits(tx, orgId); // packs may have ended while nothing was paid
        await resumePosts(tx, orgId);
        await apply.note(tx, orgId, 'lifetime_redeemed', by, { jti: known.jti, before: row?.tier ?? null });
      });
      tasks.begin(orgId);
    },

    /** Shown this once. */
    async mint(by: AuditActor, count: number): Promise<string[]> {
      const minted = await Promise.all(Array.from({ length: count }, () => codes.sign(newId())));
      await writeAudit(sql, by, {
        orgId: null,
        action: 'lifetime_codes.created',
        resource: 'billing',
        detail: { count },
      });
      return minted;
    },

    /**
     * Gives an org a plan by hand, in the caller's transaction (S211). One that pays changes its plan itself: the money
     * would not follow.
     */
    async grant(tx: Sql, orgId: string, by: AuditActor, tier: Tier): Promise<void> {
      await lockOrg(tx, orgId);
      const row = await store.findSubscription(tx, orgId);
      if (row?.processorId)
        throw new AppError(
          'conflict',
          'This organization pays for its plan: change it at the payment processor, or end its subscription first',
        );
      await store.savePlan(tx, orgId, planOf(row, tier, row?.identifier ?? 'granted', row?.isLifetime ?? false));
      await store.sumPacks(tx, orgId);
      await resumePosts(tx, orgId);
      await enforceLimits(tx, orgId);
      await apply.note(tx, orgId, 'plan_granted', by, { tier, before: row?.tier ?? null });
    },
  };
}
