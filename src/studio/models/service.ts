import type { Cache } from '../../platform/cache/index.ts';
import { bind, type Clock } from '../../platform/kernel/index.ts';
import type { AiKind, Providers } from '../../providers/registry/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import { openModelLists } from './lists.ts';
import { type ModelsDeps, resolveAi, resolveMedia } from './resolve.ts';

/** A model that an organization can use. */
export interface UsableModel {
  providerId: string;
  version: string;
  model: string;
  kinds: readonly AiKind[];
}

/**
 * Lists the models of the providers that are set up for an organization, by its own settings and those of the instance.
 * Of a provider that does not answer the known models are listed.
 */
async function listModels({ settings, lists }: ModelsDeps, orgId: string): Promise<UsableModel[]> {
  const owners = await Promise.all(
    [orgId, null].map(async (owner) =>
      (await settings.usable(owner, 'ai')).map(({ id, adapter, values }) => ({
        settingId: id,
        adapter,
        use: { orgId: owner, values },
      })),
    ),
  );
  const listed = await Promise.all(
    owners.flat().map(async (setting) => {
      const { adapter } = setting;
      const models = (adapter.listModels && (await lists.of(setting))) ?? adapter.models;
      return models.map(({ id, kinds }) => ({ providerId: adapter.id, version: adapter.version, model: id, kinds }));
    }),
  );
  const once = new Map(
    listed.flat().map((model) => [[model.providerId, model.version, model.model].join('\n'), model] as const),
  );
  return [...once.values()];
}

export type Models = ReturnType<typeof openModels>;

/** Opens who does what: providers and models by what is set up, in the order in which they are asked. */
export function openModels({
  cache,
  clock,
  providers,
  settings,
}: {
  cache: Cache;
  clock: Clock;
  providers: Pick<Providers, 'list' | 'ai'>;
  settings: Pick<ProviderSettings, 'usable'>;
}) {
  const deps: ModelsDeps = { providers, settings, lists: openModelLists({ cache, clock, providers }) };
  return bind(deps, { resolveAi, resolveMedia, list: listModels });
}
