import { rm, stat } from 'node:fs/promises';
import type { Billing } from '../../entitlements/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, newId, randomBase62 } from '../../platform/kernel/index.ts';
import type { Attribution } from './attribution.ts';
import type { Generated } from './generated.ts';
import type { ReceivedFile } from './incoming.ts';
import type { Probed, Prober } from './probe.ts';
import { confirmObjects, expectObjects, reclaimObjects } from './pending-deletions-store.ts';
import { shownName } from './rules.ts';
import { type FileRow, insertFile } from './store.ts';
import type { StoragePlace, Storages } from './storages.ts';
import { bytesAnnounced } from './uploads/store.ts';

/** What is said of a file beside its bytes. */
export interface Origin {
  name: string | undefined;
  folder: string | null;
  listed: boolean;
  createdBy: string | null;
  /** Of a copy that was fetched for a post. */
  sourceUrl: string | null;
  /** Of what came in parts. */
  uploadId?: string;
  attribution?: Attribution;
  generated?: Generated;
  /** Unless said, the title of the attribution. */
  alt?: string;
  /** The file that a changed one was made of. */
  derivedFrom?: string;
}
/** Bytes that have been judged: in a file of this machine, in a storage already, or both. */
export interface Judged {
  probed: Probed;
  bytes: number;
  path?: string | undefined;
  lies?: { place: StoragePlace; key: string } | undefined;
}

/**
 * Puts judged bytes where the organization keeps its files and writes the row, with `also` in the same commit. When
 * that fails, nothing new is left in the storage; when nobody knows whether it failed, only what has no row.
 */
export type Ingest = (orgId: string, judged: Judged, origin: Origin, also?: AlsoInCommit) => Promise<FileRow>;
export type AlsoInCommit = (tx: Sql, file: FileRow) => Promise<void>;

/** Judges a received file by its content, and ingests it. */
export type IngestReceived = (
  orgId: string,
  received: ReceivedFile,
  origin: Origin,
  also?: AlsoInCommit,
) => Promise<FileRow>;

export const openIngestReceived =
  ({ prober, ingest }: { prober: Pick<Prober, 'look'>; ingest: Ingest }): IngestReceived =>
  async (orgId, { path, size }, origin, also) =>
    ingest(orgId, { probed: await prober.look(orgId, path), bytes: size, path }, origin, also);

interface Options {
  sql: Database;
  billing: Pick<Billing, 'enabled' | 'admit' | 'lockOrg'>;
  storages: Storages;
  prober: Prober;
}

export const mintKey = (orgId: string, extension: string): string => `${orgId}/${randomBase62(32)}.${extension}`;

export function openIngest({ sql, billing, storages, prober }: Options): Ingest {
  /**
   * Where it belongs: it stays where it lies under a name that tells what it is, unless it only lies here for want of a
   * better place.
   */
  async function targetOf(orgId: string, { lies }: Judged): Promise<StoragePlace> {
    return lies && lies.place.storageSettingId !== null ? lies.place : storages.choose(orgId);
  }

  async function put(place: StoragePlace, key: string, { probed, bytes, path, lies }: Judged): Promise<void> {
    if (path !== undefined) return place.store.put(key, { mime: probed.mime, bytes, from: { path } });
    const stored = await lies!.place.store.open(lies!.key);
    if (!stored) throw new AppError('conflict', 'The upload is no longer there');
    await using _ = stored;
    await place.store.put(key, { mime: probed.mime, bytes, from: stored.read() });
  }

  /** Takes away what no file has: where the answer of a commit was lost, a file may have it all the same. */
  async function removeFresh({ store }: StoragePlace, keys: readonly string[]): Promise<void> {
    const nobodys = await reclaimObjects(sql, keys);
    await store.remove(nobodys);
    await confirmObjects(sql, nobodys);
  }

  return async (orgId, judged, { name, sourceUrl, uploadId = null, attribution, generated, alt, ...said }, also) => {
    const { probed, bytes, path, lies } = judged;
    const place = await targetOf(orgId, judged);
    const stays =
      lies !== undefined &&
      lies.place.storageSettingId === place.storageSettingId &&
      lies.key.endsWith(`.${probed.extension}`);
    const storageKey = stays ? lies.key : mintKey(orgId, probed.extension);
    const small =
      path !== undefined && sourceUrl === null && (await prober.thumbnail(orgId, path, probed, `${path}-small`))
        ? `${path}-small`
        : undefined;
    const thumbnailKey = small === undefined ? null : mintKey(orgId, 'webp');
    const fresh = [...(stays ? [] : [storageKey]), ...(thumbnailKey === null ? [] : [thumbnailKey])];
    const shown = shownName(name, `file.${probed.extension}`);
    const { store, ...where } = place;

    try {
      if (fresh.length > 0) await expectObjects(sql, orgId, fresh, place);
      if (small !== undefined)
        await store.put(thumbnailKey!, { mime: 'image/webp', bytes: (await stat(small)).size, from: { path: small } });
      if (!stays) await put(place, storageKey, judged);
      return await sql.begin(async (tx) => {
        // a copy to publish from is the service's own
        const counts = billing.enabled && sourceUrl === null && !place.ownStorage;
        if (counts) {
          await billing.lockOrg(tx, orgId);
          await billing.admit(tx, orgId, 'storage_gb', bytes + (await bytesAnnounced(tx, orgId, uploadId)));
        }
        const { extension: _, ...content } = probed;
        const row = await insertFile(tx, {
          ...said,
          ...content,
          ...where,
          id: newId(),
          orgId,
          name: shown,
          originalName: shown,
          storageKey,
          thumbnailKey,
          alt: alt ?? attribution?.title ?? '',
          bytes,
          sourceUrl,
          uploadId,
          attribution: attribution ?? null,
          generated: generated ?? null,
        });
        await confirmObjects(tx, fresh);
        await also?.(tx, row);
        return row;
      });
    } catch (error) {
      await removeFresh(place, fresh).catch(() => undefined); // else the sweep does it
      throw error;
    } finally {
      if (small !== undefined) await rm(small, { force: true });
    }
  };
}
