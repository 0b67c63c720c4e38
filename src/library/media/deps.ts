import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Providers } from '../../providers/registry/index.ts';
import type { openImport } from './import-item.ts';
import type { Incoming } from './incoming.ts';
import type { Bodies } from './bodies.ts';
import type { Ingest, IngestReceived } from './ingest.ts';
import type { Prober } from './probe.ts';
import type { PublicUrlOf } from './public-url.ts';
import type { FetchFile } from './remote.ts';
import { urlOfKey } from './rules.ts';
import type { FileRow } from './store.ts';
import type { Storages } from './storages.ts';

/** What the room is opened with. */
export interface MediaOptions {
  sql: Database;
  clock: Clock;
  outbound: Outbound;
  billing: Pick<Billing, 'enabled' | 'admit' | 'lockOrg'>;
  /** Opened with `folder` as theirs. */
  providers: Pick<Providers, 'resolve' | 'storage'>;
  settings: Pick<ProviderSettings, 'chosen' | 'pinned' | 'usable'>;
  /** Where local files lie. */
  folder: string;
  /** False: it is another one on each machine, so nothing is kept there. */
  isShared: boolean;
  /** Public address of this service, without a trailing slash. */
  backendUrl: string;
  maxBytes: number;
  /** LOCAL_STORAGE_QUOTA_GB: beyond it an upload still passes, with a warning (S153). */
  localQuotaBytes: number;
  /** RESTRICT_UPLOAD_DOMAINS; empty: media may be hosted anywhere. */
  restrictDomains: readonly string[];
  retention: { deletedDays: number; uploadDays: number; jobDays: number };
  /** Signs the addresses of parts. */
  signingKey: string;
  /** This start of this process. */
  incarnation: string;
  log: Log;
}

/** What the use cases are handed. */
export interface MediaDeps extends Pick<MediaOptions, 'sql' | 'backendUrl' | 'maxBytes' | 'localQuotaBytes'> {
  incoming: Incoming;
  billing: Pick<Billing, 'enabled' | 'admit'>;
  storages: Storages;
  prober: Prober;
  bodies: Bodies;
  ingest: Ingest;
  publicUrlOf: PublicUrlOf;
  ingestReceived: IngestReceived;
  fetchFile: FetchFile;
  makeItem: ReturnType<typeof openImport>;
}

/** A file with its public addresses. */
export interface LibraryFile extends FileRow {
  path: string;
  thumbnail: string | null;
}

export const libraryFileOf = ({ backendUrl }: Pick<MediaDeps, 'backendUrl'>, file: FileRow): LibraryFile => ({
  ...file,
  path: urlOfKey(backendUrl, file.storageKey),
  thumbnail: file.thumbnailKey === null ? null : urlOfKey(backendUrl, file.thumbnailKey),
});
