import type { Sql } from '../platform/db/index.ts';
import type { Admission } from './admit.ts';
import { type Counted, excessOf } from './over-limit.ts';
import * as store from './limit-store.ts';
import type { Tier } from './plans.ts';
import type { Standing } from './entitlement.ts';

/** What goes, as it is shown to people before and after. */
export interface Excess {
  channels: { id: string; name: string }[];
  members: { id: string; name: string }[];
}
/** How the rooms that own them stop channels and members, in a transaction that holds the org's counters. */
export interface Stop {
  channels(sql: Sql, orgId: string, ids: readonly string[]): Promise<unknown>;
  members(sql: Sql, orgId: string, userIds: readonly string[]): Promise<unknown>;
}
export interface Pruning {
  /** What would go on that plan with the packs of now; null: without a subscription, and so without packs. */
  excess(sql: Sql, orgId: string, tier: Tier | null): Promise<Excess>;
  /** Stops exactly what the limits of now leave no room for; in the transaction that lowered them. Nothing is deleted. */
  prune(sql: Sql, orgId: string): Promise<Excess>;
}

export function openPruning({ enabled, hold, standing, limitsOn }: Pick<Admission, 'enabled' | 'hold' | 'standing' | 'limitsOn'>, stop: Stop): Pruning {
  async function beyond(sql: Sql, orgId: string, limits: Standing['limits']): Promise<Excess> {
    if (!enabled) return { channels: [], members: [] };
    const channels = excessOf(await store.countedChannels(sql, orgId), limits.channel.effective);
    const members = excessOf(await store.countedMembers(sql, orgId), limits.team_members.effective);
    return { channels: channels.map(shown), members: members.map(shown) };
  }
  return {
    excess: async (sql, orgId, tier) => beyond(sql, orgId, await limitsOn(sql, orgId, tier)),
    async prune(sql, orgId) {
      await hold(sql, orgId);
      const { limits } = await standing(sql, orgId);
      const excess = await beyond(sql, orgId, limits);
      if (excess.channels.length > 0)
        await stop.channels(
          sql,
          orgId,
          excess.channels.map(({ id }) => id),
        );
      if (excess.members.length > 0)
        await stop.members(
          sql,
          orgId,
          excess.members.map(({ id }) => id),
        );
      return excess;
    },
  };
}

const shown = ({ id, name }: Counted) => ({ id, name });
