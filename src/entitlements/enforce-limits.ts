import type { Sql } from '../platform/db/index.ts';
import type { Admission } from './admit.ts';
import { type Counted, overLimitOf } from './over-limit.ts';
import * as store from './limit-store.ts';
import type { Tier } from './plans.ts';
import type { Stop } from './ports.ts';
import type { Entitlement } from './entitlement.ts';

/** Channels and members over a limit, as they are shown to people before and after. */
export interface OverLimit {
  channels: { id: string; name: string }[];
  members: { id: string; name: string }[];
}
export interface LimitEnforcement {
  /**
   * Finds what would be over the limits of that plan with the packs of now; null: without a subscription, and so
   * without packs.
   */
  findOverLimit(sql: Sql, orgId: string, tier: Tier | null): Promise<OverLimit>;
  /**
   * Stops exactly what the limits of now leave no room for; in the transaction that lowered them. Nothing is deleted.
   * While a subscription is not paid its limits are not the organization's own: nothing is stopped, and whoever ends
   * that enforces what holds then.
   */
  enforceLimits(sql: Sql, orgId: string): Promise<OverLimit>;
}

export function openLimitEnforcement(
  {
    enabled,
    lockOrg,
    findEntitlement,
    limitsOn,
  }: Pick<Admission, 'enabled' | 'lockOrg' | 'findEntitlement' | 'limitsOn'>,
  stop: Stop,
): LimitEnforcement {
  async function beyond(sql: Sql, orgId: string, limits: Entitlement['limits']): Promise<OverLimit> {
    if (!enabled) return { channels: [], members: [] };
    const channels = overLimitOf(await store.countedChannels(sql, orgId), limits.channel.effective);
    const members = overLimitOf(await store.countedMembers(sql, orgId), limits.team_members.effective);
    return { channels: channels.map(shown), members: members.map(shown) };
  }
  return {
    findOverLimit: async (sql, orgId, tier) => beyond(sql, orgId, await limitsOn(sql, orgId, tier)),
    async enforceLimits(sql, orgId) {
      await lockOrg(sql, orgId);
      const { limits, subscribed, facts } = await findEntitlement(sql, orgId);
      if (facts.subscription && !subscribed) return { channels: [], members: [] };
      const overLimit = await beyond(sql, orgId, limits);
      if (overLimit.channels.length > 0)
        await stop.channels(
          sql,
          orgId,
          overLimit.channels.map(({ id }) => id),
        );
      if (overLimit.members.length > 0)
        await stop.members(
          sql,
          orgId,
          overLimit.members.map(({ id }) => id),
        );
      return overLimit;
    },
  };
}

const shown = ({ id, name }: Counted) => ({ id, name });
