import { AppError } from '../../../platform/kernel/index.ts';
import { formatOfKey } from '../rules.ts';
import type { StoragePlace } from '../storages.ts';
import { getUpload, openParts, providerUploadOf, type UploadName, type UploadsDeps } from './deps.ts';
import { CLAIM_MS } from './claim.ts';
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
  try {
    await abort(deps, row);
  } catch (error) {
    await store.releaseUpload(deps.sql, orgId, row.id).catch(() => undefined); // else the claim ends by itself
    throw error;
  }
}

/** Gives up what was begun more than `days` ago (RT8); answers how many. */
export async function dropAbandoned(
  deps: Pick<UploadsDeps, 'sql' | 'storages' | 'clock' | 'log'>,
  days: number,
  limit: number,
): Promise<number> {
  const { sql, storages, log } = deps;
  const claimed = await store.claimAbandoned(sql, days, limit);
  await each(claimed, (row) =>
    abort(deps, row).catch((error: unknown) =>
      log.warn({ err: error, uploadId: row.id }, 'an upload could not be given up, tried again when its claim ends'),
    ),
  );
  for (const place of [storages.local, ...(await storages.ofInstance())])
    await dropNobodys(deps, place, days).catch((error: unknown) =>
      // not every server can tell what was begun
      log.debug({ err: error, storageId: place.storageId }, 'a storage did not tell which uploads it has'),
    );
  return claimed.length;
}

/** Calls to storages at once. */
const AT_ONCE = 8;
/** Works on each, some at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let n = 0; n < items.length; n += AT_ONCE) await Promise.all(items.slice(n, n + AT_ONCE).map(work));
}

async function abort(deps: Pick<UploadsDeps, 'sql' | 'storages'>, row: store.UploadRow): Promise<void> {
  const { multipart } = await openParts(deps, row);
  await multipart.abort(providerUploadOf(row));
  await store.dropUpload(deps.sql, row.orgId, row.id);
}

/**
 * Aborts those that no row names: their process ended before it wrote them down, or their organization is gone. In a
 * bucket only what is called as we call it is ours.
 */
async function dropNobodys(
  { sql, clock, log }: Pick<UploadsDeps, 'sql' | 'clock' | 'log'>,
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
  await each(
    old.filter(({ id }) => !named.has(id)),
    (upload) =>
      multipart
        .abort(upload)
        .catch((error: unknown) => log.warn({ err: error }, 'an upload of nobody could not be given up, tried again')),
  );
}
