import { AppError, ProviderError } from '../../platform/kernel/index.ts';
import type { Configured, ProviderSettings } from '../../providers/settings/index.ts';
import type { Providers, StorageAdapter, Store } from '../../providers/registry/index.ts';

/** Where an object lies, as its row says. */
export interface Pin {
  storageId: string;
  storageVersion: string;
  /** Null: the local storage. */
  storageSettingId: string | null;
  /** The organization brought it: what lies there counts against no limit. */
  ownStorage: boolean;
}
/** A storage that is open. */
export interface StoragePlace extends Pin {
  store: Store;
}

export interface Storages {
  local: StoragePlace;
  /** Those of the instance that are in use, beside the local one: the chosen one, and earlier ones. */
  ofInstance(): Promise<StoragePlace[]>;
  /** Where new files of an organization go: its own storage, else that of the instance, else the local one. */
  choose(orgId: string): Promise<StoragePlace>;
  /** Where parts of an upload go that is meant for this place. */
  forParts(place: StoragePlace): StoragePlace;
  /** Where something was put once: there it is read, whatever was chosen since. */
  at(orgId: string, pin: Pin): Promise<StoragePlace>;
}

interface Options {
  providers: Pick<Providers, 'resolve' | 'storage'>;
  settings: Pick<ProviderSettings, 'chosen' | 'pinned' | 'usable'>;
  /** Whether the local storage is the same on every machine. */
  isShared: boolean;
}

export function openStorages({ providers, settings, isShared }: Options): Storages {
  const adapter = providers.resolve('storage', 'local');
  const local: StoragePlace = {
    storageId: adapter.id,
    storageVersion: adapter.version,
    storageSettingId: null,
    ownStorage: false,
    store: providers.storage(adapter, { orgId: null, values: {} }),
  };
  const placeOf = ({ id, adapter: of, values }: Configured<StorageAdapter>, owner: string | null): StoragePlace => ({
    storageId: of.id,
    storageVersion: of.version,
    storageSettingId: id,
    ownStorage: owner !== null,
    store: providers.storage(of, { orgId: owner, values }),
  });

  function forNew(place: StoragePlace): StoragePlace {
    if (isShared || place !== local) return place;
    throw new AppError(
      'unavailable',
      'Files cannot be kept: a super-admin has to set a storage for all machines at /admin/providers/settings',
    );
  }

  async function ofOwner(owner: string | null): Promise<StoragePlace | undefined> {
    const chosen = await settings.chosen(owner, 'storage');
    return chosen && placeOf(chosen, owner);
  }

  return {
    local,
    ofInstance: async () => (await settings.usable(null, 'storage')).map((one) => placeOf(one, null)),
    choose: async (orgId) => (await ofOwner(orgId)) ?? (await ofOwner(null)) ?? forNew(local),
    forParts: (place) => (place.store.multipart ? place : forNew(local)),
    async at(orgId, { storageSettingId, ownStorage }) {
      if (storageSettingId === null) return local;
      const owner = ownStorage ? orgId : null;
      try {
        return placeOf(await settings.pinned(owner, 'storage', storageSettingId), owner);
      } catch (cause) {
        if (cause instanceof AppError)
          throw new ProviderError('rejected', 'The storage of this file is no longer there', { cause });
        throw cause;
      }
    },
  };
}
