import { type AuditActor, writeAudit } from '../platform/audit/index.ts';
import type { Database } from '../platform/db/index.ts';
import type { Overrides } from './limits.ts';
import type { Billing } from './service.ts';

/**
 * Sets, clears and keeps limits of an org by hand (S76), with a note of it. What a lower one leaves no room for stays;
 * nothing more is admitted.
 */
export async function overrideLimits(
  { sql, billing }: { sql: Database; billing: Billing },
  orgId: string,
  by: AuditActor,
  change: Readonly<Record<string, number | null>>,
): Promise<Overrides> {
  const results: Overrides[] = [];
  await sql.begin(async (tx) => {
    const overrides = await billing.override(tx, orgId, change);
    await writeAudit(tx, by, {
      orgId,
      action: 'billing.limits_overridden',
      resource: 'billing',
      resourceId: orgId,
      detail: { change: { ...change }, overrides: { ...overrides } },
    });
    results.push(overrides);
  });
  return results[0]!;
}
