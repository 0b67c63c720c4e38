import { type AuditActor, writeAudit } from '../../../platform/audit/index.ts';
import { pausePosts } from '../bulk.ts';
import type { PostsDeps } from '../deps.ts';
import { brakedChannels, brakeOf, type BrakeTarget, checkTarget, lockBraked } from './brakes.ts';

/**
 * Puts a brake on publishing: what waits is paused, and so is what is made from now on, until `releaseBrake`. No claim
 * passes once it has answered; what is on its way goes on. Answers how many posts were paused.
 */
export async function setBrake(
  { sql, billing }: Pick<PostsDeps, 'sql' | 'billing'>,
  orgId: string,
  target: BrakeTarget,
  by?: AuditActor,
): Promise<number> {
  return sql.begin(async (tx) => {
    await billing.lockOrg(tx, orgId); // before channels; a new one begins with the marks that there are
    const { key, mark } = await brakeOf(tx, orgId, target);
    await checkTarget(tx, orgId, target);
    await tx`
      insert into brakes (org_id, brake, set_by)
      values (${orgId}, ${key}, ${by?.userId ?? null})
      on conflict do nothing`;
    await lockBraked(tx, orgId, target);
    await tx`
      update channels
      set brakes = array_append(array_remove(brakes, ${mark}), ${mark}), due_version = due_version + 1,
        next_due_at = ${target.scope === 'campaign' ? tx`next_due_at` : tx`null`}
      where ${brakedChannels(tx, orgId, target)}`;
    const [row] = await tx<{ paused: number }[]>`
      with channel as (
        select id, org_id, brakes
        from channels
        where ${brakedChannels(tx, orgId, target)}
      ), ${pausePosts(tx, 'A brake is on', 'brake')}
      select count(*)::int as paused
      from paused`;
    const { paused } = row!;
    if (by)
      await writeAudit(tx, by, {
        orgId,
        action: 'posts.paused',
        resource: 'posts',
        resourceId: target.id ?? orgId,
        detail: { scope: target.scope, paused },
      });
    return paused;
  });
}
