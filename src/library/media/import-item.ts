import type { Billing } from '../../entitlements/index.ts';
import { type Database, isUniqueViolation } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import type { Attribution } from './attribution.ts';
import type { Origin } from './ingest.ts';
import type { ReceivedFile } from './incoming.ts';
import { asProviderError, type Remote } from './remote.ts';
import type { Storages } from './storages.ts';
import { claimItem, fileOfItem, type FileRow, releaseItem } from './store.ts';

export type ItemName = Pick<Attribution, 'provider' | 'itemId'>;
/** An item of a stock source, ready to be fetched. */
export interface StockItem extends Remote {
  attribution: Attribution;
}

interface Options {
  sql: Database;
  billing: Pick<Billing, 'enabled' | 'admit'>;
  storages: Pick<Storages, 'choose'>;
  fetchFile(from: Remote): Promise<ReceivedFile>;
  ingestReceived(orgId: string, received: ReceivedFile, origin: Origin): Promise<FileRow>;
}

/** Longer than an import can take. */
const CLAIM_MS = 600_000;
const RETRY_MS = 5_000;

/**
 * Makes one file of each item, however many ask at once. Acquiring may use up a quota, so that it happens only under a
 * claim that one process holds, where the item is not there yet and the plan has any room.
 */
export function openImport({ sql, billing, storages, fetchFile, ingestReceived }: Options) {
  const inFlight = new Map<string, Promise<FileRow>>();

  async function fetched(from: Remote): Promise<ReceivedFile> {
    try {
      return await fetchFile(from);
    } catch (error) {
      throw asProviderError(error, from.url);
    }
  }

  async function acquireAndKeep(orgId: string, userId: string, acquire: () => Promise<StockItem>): Promise<FileRow> {
    if (billing.enabled && !(await storages.choose(orgId)).ownStorage)
      await sql.begin((tx) => billing.admit(tx, orgId, 'storage_gb', 1));
    const { attribution, ...from } = await acquire();
    await using received = await fetched(from);
    return await ingestReceived(orgId, received, {
      name: attribution.title,
      folder: null,
      listed: true,
      createdBy: userId,
      sourceUrl: null,
      attribution,
    });
  }

  async function make(
    orgId: string,
    userId: string,
    of: ItemName,
    acquire: () => Promise<StockItem>,
  ): Promise<FileRow> {
    const known = await fileOfItem(sql, orgId, of);
    if (known) return known;
    const beingTaken = () =>
      new AppError('conflict', 'This item is being taken into the library just now: try again shortly', {
        retryAfterMs: RETRY_MS,
      });
    if (!(await claimItem(sql, orgId, of, CLAIM_MS))) throw beingTaken();
    try {
      // it may have come before the claim
      return (await fileOfItem(sql, orgId, of)) ?? (await acquireAndKeep(orgId, userId, acquire));
    } catch (error) {
      throw isUniqueViolation(error, 'files_stock_item') ? beingTaken() : error;
    } finally {
      await releaseItem(sql, orgId, of);
    }
  }

  return (orgId: string, userId: string, of: ItemName, acquire: () => Promise<StockItem>): Promise<FileRow> => {
    const key = `${orgId} ${of.provider} ${of.itemId}`;
    const work = inFlight.get(key) ?? make(orgId, userId, of, acquire).finally(() => inFlight.delete(key));
    inFlight.set(key, work);
    return work;
  };
}
