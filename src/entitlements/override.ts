import { type AuditActor, writeAudit } from '../platform/audit/index.ts';
import type { Database, Sql } from '../platform/db/index.ts';
import { notFound } from '../platform/kernel/index.ts';
import type { Admission } from './admit.ts';
import { overridesForUpdate, writeOverrides } from './limit-store.ts';
import { changeOverrides, type Overrides } from './limits.ts';

type Change = Readonly<Record<string, number | null>>;

/** Sets, clears and keeps limits of an org by hand, in the caller's transaction. */
export async function changeLimits(
  tx: Sql,
  { lockOrg }: Pick<Admission, 'lockOrg'>,
  orgId: string,
  change: Change,
): Promise<Overrides> {
  const found = await overridesForUpdate(tx, orgId);
  if (!found) throw notFound();
  await lockOrg(tx, orgId);
  const overrides = changeOverrides(found, change);
  await writeOverrides(tx, orgId, overrides);
  return overrides;
}

/** The same with an entry of the audit log. */
export const overrideLimits = (
  { sql, admission }: { sql: Database; admission: Pick<Admission, 'lockOrg'> },
  orgId: string,
  by: AuditActor,
  change: Change,
): Promise<Overrides> =>
  sql.begin(async (tx) => {
    const overrides = await changeLimits(tx, admission, orgId, change);
    await writeAudit(tx, by, {
      orgId,
      action: 'billing.limits_overridden',
      resource: 'billing',
      resourceId: orgId,
      detail: { change: { ...change }, overrides: { ...overrides } },
    });
    return overrides;
  });
