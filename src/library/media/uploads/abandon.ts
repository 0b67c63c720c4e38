import { AppError } from '../../../platform/kernel/index.ts';
import { formatOfKey } from '../rules.ts';
import type { StoragePlace } from '../storages.ts';
import { getUpload, openParts, providerUploadOf, type UploadName, type UploadsDeps } from './deps.ts';
import { CLAIM_MS, forgetUpload } from './claim.ts';
import * as store from './store.ts';

const DAY_MS = 86_400_000;

/** Gives up an upload that a person named, with its parts. */
export async function abortUpload(
  deps: Pick<UploadsDeps, 'sql' | 'storages'>,
  orgId: string,
  name: UploadName,
): Promise<void> {
  await getUpload(deps, orgId, name);
  const row = await store.claimUpload(deps.sql, orgId, name.uploadId, name.key, CLAIM_MS);
  if (!row) throw new AppError('conflict', 'This upload is being completed');
  await abort(deps, row);
}

/** Gives up what was begun more than `days` ago (RT8); answers how many. */
export async function dropAbandoned(
  deps: Pick<UploadsDeps, 'sql' | 'storages' | 'clock'>,
  days: number,
  limit: number,
): Promise<number> {
  const { sql, storages } = deps;
  const claimed = await store.claimAbandoned(sql, days, limit);
  // a storage that cannot be reached is asked again when the claim ends
  await Promise.allSettled(claimed.map((row) => abort(deps, row)));
  await dropNobodys(deps, storages.local, days);
  const shared = await storages.shared();
  // not every server can tell what was begun
  if (shared !== storages.local) await dropNobodys(deps, shared, days).catch(() => undefined);
  return claimed.length;
}

async function abort(deps: Pick<UploadsDeps, 'sql' | 'storages'>, row: store.UploadRow): Promise<void> {
  const { multipart } = await openParts(deps, row);
  await multipart.abort(providerUploadOf(row));
  await forgetUpload(deps, row);
}

/**
 * Aborts those that no row names: their process ended before it wrote them down, or their organization is gone. In a
 * bucket only what is called as we call it is ours.
 */
async function dropNobodys(
  { sql, clock }: Pick<UploadsDeps, 'sql' | 'clock'>,
  { store: { multipart }, storageSettingId }: StoragePlace,
  days: number,
): Promise<void> {
  if (!multipart) return;
  const isOld = (begun: Date) => clock.now().getTime() - begun.getTime() > (days + 1) * DAY_MS;
  const old = (await multipart.uploads()).filter(
    ({ key, begun }) => isOld(begun) && (storageSettingId === null || formatOfKey(key)),
  );
  const named = await store.namedUploads(
    sql,
    old.map(({ id }) => id),
  );
  await Promise.all(old.filter(({ id }) => !named.has(id)).map((upload) => multipart.abort(upload)));
}
