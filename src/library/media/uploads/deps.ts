import type { Billing } from '../../../entitlements/index.ts';
import type { Database } from '../../../platform/db/index.ts';
import { type Clock, isId, notFound } from '../../../platform/kernel/index.ts';
import type { Log } from '../../../platform/telemetry/index.ts';
import type { MultipartStore, Upload } from '../../../providers/registry/index.ts';
import type { Incoming } from '../incoming.ts';
import type { Ingest } from '../ingest.ts';
import type { Prober } from '../probe.ts';
import type { StoragePlace, Storages } from '../storages.ts';
import type { openPartsInFlight } from './parts-in-flight.ts';
import { findUpload, type UploadRow } from './store.ts';

/** What uploads are opened with. */
export interface UploadsOptions {
  sql: Database;
  clock: Clock;
  log: Log;
  billing: Pick<Billing, 'enabled' | 'admit' | 'lockOrg'>;
  storages: Storages;
  prober: Prober;
  ingest: Ingest;
  incoming: Incoming;
  backendUrl: string;
  maxBytes: number;
  signingKey: string;
}
/** What the use cases are handed. */
export interface UploadsDeps extends UploadsOptions {
  partsInFlight: ReturnType<typeof openPartsInFlight>;
}

/** How a client names an upload. */
export interface UploadName {
  key: string;
  uploadId: string;
}

export const unknownUpload = () => notFound('Upload not found');

export async function getUpload(
  { sql }: Pick<UploadsDeps, 'sql'>,
  orgId: string,
  { key, uploadId }: UploadName,
): Promise<UploadRow> {
  const row = isId(uploadId) ? await findUpload(sql, orgId, uploadId, key) : undefined;
  if (!row) throw unknownUpload();
  return row;
}

/** Where the parts of an upload go: here, where the storage takes none. */
export async function openParts(
  { storages }: Pick<UploadsDeps, 'storages'>,
  row: UploadRow,
): Promise<{ place: StoragePlace; multipart: MultipartStore }> {
  const place = await storages.at(row.orgId, row);
  return { place, multipart: place.store.multipart! }; // a storage without was not chosen
}

/** The upload as its storage knows it. */
export const providerUploadOf = ({ storageKey, providerUploadId }: UploadRow): Upload => ({
  key: storageKey,
  id: providerUploadId,
});
