import { ProviderError } from '../../platform/kernel/index.ts';
import type { Cost, Providers } from '../../providers/registry/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { LateCost } from './store.ts';

/** Providers are asked side by side, each for a few seconds: the other sweeps wait for this one. */
export const MOST_ASKED = 100;

export interface LateCostDeps {
  providers: Pick<Providers, 'ai'>;
  settings: Pick<ProviderSettings, 'usable'>;
}

/** Asks a provider, with the key that it was called with, what a call cost; undefined where it does not know it all. */
export async function findLateCost(
  { providers, settings }: LateCostDeps,
  { orgId, settingId, callIds }: LateCost,
): Promise<Cost | undefined> {
  for (const owner of [orgId, null]) {
    const setting = (await settings.usable(owner, 'ai')).find(({ id }) => id === settingId);
    if (!setting) continue;
    const ai = providers.ai(setting.adapter, { orgId: owner, values: setting.values });
    const told = await Promise.all(callIds.map(async (id) => ai.costOf?.(id))).catch(
      (error: unknown): (Cost | undefined)[] => {
        if (error instanceof ProviderError) return [undefined];
        throw error;
      },
    );
    const costs = told.filter((cost) => cost !== undefined);
    if (costs.length < told.length) return undefined;
    return { micros: costs.reduce((sum, { micros }) => sum + micros, 0), source: costs[0]!.source };
  }
  return undefined;
}
