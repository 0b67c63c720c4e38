import { addPendingDeletion } from '../pending-deletions-store.ts';
import type { UploadsDeps } from './deps.ts';
import { dropUpload, type UploadRow } from './store.ts';

/** How long who ends an upload holds it: completing takes a look at the whole, which may have to be fetched. */
export const CLAIM_MS = 15 * 60_000;

/** Deletes the row of an upload; false: somebody else has ended it, and what lies there may be a file. */
export const forgetUpload = ({ sql }: Pick<UploadsDeps, 'sql'>, row: UploadRow): Promise<boolean> =>
  sql.begin(async (tx) => {
    const isOurs = await dropUpload(tx, row.orgId, row.id);
    if (isOurs) await addPendingDeletion(tx, row.orgId, row.storageKey, row);
    return isOurs;
  });
