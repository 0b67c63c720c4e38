import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../platform/db/index.ts';
import { type Clock, ProviderError } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { confirmObjects, type PendingDeletion, claimDueDeletions } from './pending-deletions-store.ts';
import { dropDeletedFiles, dropOldCopies } from './store.ts';
import type { StoragePlace, Storages } from './storages.ts';
import type { Uploads } from './uploads/index.ts';

const COPY_KEPT_MS = 24 * 3_600_000;
/** By then a storage that refuses us has done so for months: what lies there is left to its owner. */
const MOST_TRIES = 30;
/** So many objects of a storage are refused singly, and the others wait for the next time: it may be away. */
const MOST_REFUSED = 5;

interface Options {
  sql: Database;
  clock: Clock;
  storages: Storages;
  uploads: Pick<Uploads, 'dropAbandoned'>;
  incoming: string;
  log: Log;
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
  log,
  retention,
}: Options): (limit: number) => Promise<number> {
  /**
   * Removes objects of one storage, in one call; where that is refused, one by one, so that one which cannot go keeps
   * none of the others. Answers those that are gone.
   */
  async function removeAll({ store }: StoragePlace, objects: readonly PendingDeletion[]): Promise<PendingDeletion[]> {
    try {
      await store.remove(objects.map(({ storageKey }) => storageKey));
      return [...objects];
    } catch (error) {
      const { storageId, storageSettingId } = objects[0]!;
      log.warn(
        { err: error, storageId, storageSettingId, objects: objects.length },
        'a storage refused a deletion, its objects are deleted singly or tried again later',
      );
      if (objects.length === 1) return [];
    }
    const gone: PendingDeletion[] = [];
    let refused = 0;
    // each time others are first: those that are refused for ever would use up all tries
    const first = (objects[0]!.tries * MOST_REFUSED) % objects.length;
    for (const object of [...objects.slice(first), ...objects.slice(0, first)]) {
      try {
        await store.remove([object.storageKey]);
        gone.push(object);
      } catch {
        refused += 1;
        if (refused === MOST_REFUSED) break;
      }
    }
    return gone;
  }

  /** Objects of one storage. What cannot be removed is held back, and tried again later. */
  async function remove(objects: readonly PendingDeletion[]): Promise<void> {
    const gone = await storages.at(objects[0]!.orgId, objects[0]!).then(
      (place) => removeAll(place, objects),
      // its settings are gone: nobody can remove them
      (error: unknown) => (error instanceof ProviderError && error.failure === 'rejected' ? objects : []),
    );
    const done = new Set([...gone, ...objects.filter(({ tries }) => tries >= MOST_TRIES)]);
    await confirmObjects(
      sql,
      [...done].map(({ storageKey }) => storageKey),
    );
  }

  async function removeDue(limit: number): Promise<number> {
    const due = await claimDueDeletions(sql, limit);
    await Promise.all([...Map.groupBy(due, ({ storageSettingId }) => storageSettingId).values()].map(remove));
    return due.length;
  }

  /** Files of uploads that were cut off with their process. */
  async function removeIncoming(): Promise<number> {
    const now = clock.now().getTime();
    for (const name of await readdir(incoming)) {
      const path = join(incoming, name);
      const stats = await stat(path).catch(() => undefined);
      if (!stats?.isFile() || now - stats.mtimeMs <= COPY_KEPT_MS) continue;
      await rm(path, { force: true }).catch((error: unknown) =>
        log.warn({ err: error }, 'a file that an upload has left cannot be deleted, tried again'),
      );
    }
    return 0;
  }

  return async (limit) => {
    const steps = [
      () => dropOldCopies(sql, COPY_KEPT_MS, limit),
      () => dropDeletedFiles(sql, retention.deletedDays, limit),
      () => uploads.dropAbandoned(retention.uploadDays, limit),
      () => removeDue(limit),
      removeIncoming,
    ];
    const counts: number[] = [];
    const faults: unknown[] = [];
    // one behind the other, as rows leave bytes; one that fails keeps none of the others
    for (const step of steps)
      await step().then(
        (count) => counts.push(count),
        (error: unknown) => faults.push(error),
      );
    const most = Math.max(0, ...counts);
    if (faults.length === 0) return most;
    if (most < limit) throw faults[0];
    // there is more of another kind, which would wait for an hour: the fault is thrown when that is done
    log.warn({ err: faults[0], faults: faults.length }, 'a part of the sweep of media failed, the others go on');
    return most;
  };
}
