import { isReachableFromOutside } from '../../platform/outbound/index.ts';
import { ofStorage } from './remote.ts';
import { bytesUrlOfKey, urlOfKey } from './rules.ts';
import type { FileRow } from './store.ts';
import type { StoragePlace } from './storages.ts';

const FETCHED_SECONDS = 6 * 3_600; // a network may fetch a video long after it was told of it

/** Answers where others can fetch a file; undefined where nobody outside can. */
export type PublicUrlOf = (file: Pick<FileRow, 'storageKey'>, place: StoragePlace) => Promise<string | undefined>;

export const reachable = (url: string | undefined): string | undefined =>
  url !== undefined && isReachableFromOutside(url) ? url : undefined;

/** Whether nobody outside can fetch a file, as far as that is known without its storage. */
export const isHidden = (backendUrl: string, { storageKey, storageSettingId }: FileRow): boolean =>
  storageSettingId === null && reachable(urlOfKey(backendUrl, storageKey)) === undefined;

/**
 * At the storage's permanent address, from this service, else at the storage's signed one, which does not answer HEAD.
 */
export const openPublicUrl =
  (backendUrl: string): PublicUrlOf =>
  async ({ storageKey }, { store: storage }) => {
    const ours = storage.direct ? bytesUrlOfKey : urlOfKey;
    return (
      reachable(storage.url(storageKey)) ??
      reachable(ours(backendUrl, storageKey)) ??
      reachable(
        await storage.direct?.get(storageKey, FETCHED_SECONDS).catch((error: unknown) => {
          throw ofStorage(error);
        }),
      )
    );
  };
