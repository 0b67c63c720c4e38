import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../platform/db/index.ts';
import { type Clock, ProviderError } from '../../platform/kernel/index.ts';
import { confirmObjects, type PendingDeletion, claimDueDeletions } from './pending-deletions-store.ts';
import { dropDeletedFiles, dropOldCopies } from './store.ts';
import type { Storages } from './storages.ts';
import type { Uploads } from './uploads/index.ts';

const COPY_KEPT_MS = 24 * 3_600_000;
/** By then a storage that refuses us has done so for months: what lies there is left to its owner. */
const MOST_TRIES = 30;

interface Options {
  sql: Database;
  clock: Clock;
  storages: Storages;
  uploads: Pick<Uploads, 'dropAbandoned'>;
  incoming: string;
  retention: { deletedDays: number; uploadDays: number };
}

/**
 * Forgets what nobody needs any more, rows first, then the bytes that they leave; answers how many rows of the fullest
 * kind.
 */
export function openSweep({
  sql,
  clock,
  storages,
  uploads,
  incoming,
  retention,
}: Options): (limit: number) => Promise<number> {
  /** Objects of one storage, in one call. What cannot be removed is held back, and tried again later. */
  async function remove(objects: readonly PendingDeletion[]): Promise<void> {
    const isGone = await storages.at(objects[0]!.orgId, objects[0]!).then(
      ({ store }) =>
        store.remove(objects.map(({ storageKey }) => storageKey)).then(
          () => true,
          () => false,
        ),
      // its settings are gone: nobody can remove them
      (error: unknown) => error instanceof ProviderError && error.failure === 'rejected',
    );
    const done = isGone ? objects : objects.filter(({ tries }) => tries >= MOST_TRIES);
    await confirmObjects(
      sql,
      done.map(({ storageKey }) => storageKey),
    );
  }

  async function removeDue(limit: number): Promise<number> {
    const due = await claimDueDeletions(sql, limit);
    await Promise.all([...Map.groupBy(due, ({ storageSettingId }) => storageSettingId).values()].map(remove));
    return due.length;
  }

  /** Files of uploads that were cut off with their process. */
  async function removeIncoming(): Promise<void> {
    const now = clock.now().getTime();
    await Promise.all(
      (await readdir(incoming)).map(async (name) => {
        const path = join(incoming, name);
        const stats = await stat(path).catch(() => undefined);
        if (stats?.isFile() && now - stats.mtimeMs > COPY_KEPT_MS) await rm(path, { force: true });
      }),
    );
  }

  return async (limit) => {
    const rows = [
      await dropOldCopies(sql, COPY_KEPT_MS, limit),
      await dropDeletedFiles(sql, retention.deletedDays, limit),
      await uploads.dropAbandoned(retention.uploadDays, limit),
    ];
    const removed = await removeDue(limit);
    await removeIncoming();
    return Math.max(...rows, removed);
  };
}
