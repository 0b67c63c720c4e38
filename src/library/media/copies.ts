import type { Database, Sql } from '../../platform/db/index.ts';
import { openLimiter } from '../../platform/flow/index.ts';
import { ProviderError } from '../../platform/kernel/index.ts';
import type { SentFile } from '../../providers/registry/index.ts';
import type { Incoming } from './incoming.ts';
import type { Ingest } from './ingest.ts';
import type { Prober } from './probe.ts';
import { type FetchFile, nameOfUrl } from './remote.ts';
import { confirmObjects } from './pending-deletions-store.ts';
import * as store from './store.ts';
import type { FileRow } from './store.ts';
import type { Storages } from './storages.ts';

/** Posts of an organization that name the same address are handed the same bytes for so long. */
const FRESH_MS = 3_600_000;
/** What an organization may have of copies at a time: they count against nothing that it pays for. */
const MOST_BYTES = 2 * 1024 ** 3;
const MOST_FILES = 200;
const AGAIN_MS = 30_000;
/** Files that one process fetches at a time: an organization with many waits, and others come in between. */
const FETCHED_AT_ONCE = 64;
const MADE_FRESH_MS = 3_600_000;

/** Copies of media that posts name by an address outside, kept until the posts that need them have settled. */
export interface Copies {
  /**
   * One that is fresh enough, fetched now when there is none, of at most `maxBytes`. Who asks for the same one at the
   * same time gets the same.
   */
  of(orgId: string, url: string, maxBytes: number): Promise<FileRow>;
  /**
   * A picture that was made of a file for a network that fetches it, by a name of ours; made now when there is none that
   * stays for another hour. Undefined: it cannot be made.
   */
  made(orgId: string, name: string, make: () => Promise<SentFile | undefined>): Promise<FileRow | undefined>;
  /** Drops those that no post needs now. */
  drop(orgId: string): Promise<void>;
}

interface Options {
  sql: Database;
  storages: Storages;
  prober: Prober;
  incoming: Incoming;
  ingest: Ingest;
  fetchFile: FetchFile;
  /** Of one upload: a copy may be as large. */
  maxBytes: number;
}

export function openCopies({ sql, storages, prober, incoming, ingest, fetchFile, maxBytes: largest }: Options): Copies {
  const room = Math.max(MOST_BYTES, largest);
  const inFlight = new Map<string, Promise<FileRow>>();
  const limiter = openLimiter({ total: FETCHED_AT_ONCE, perOwner: 'share' });
  /** What comes to this process and has no row yet. */
  const coming = new Set<{ orgId: string; bytes: number }>();
  const bytesComing = (orgId: string) =>
    [...coming].reduce((sum, one) => sum + (one.orgId === orgId ? one.bytes : 0), 0);
  const filesComing = (orgId: string) => [...coming].filter((one) => one.orgId === orgId).length;
  const later = () =>
    new ProviderError(
      'unavailable',
      'Too many pictures and videos from outside are being published: this one waits for room',
      { retryAfterMs: AGAIN_MS },
    );

  async function drop(orgId: string): Promise<void> {
    const dropped = await store.dropUnneededCopies(sql, orgId, FRESH_MS);
    for (const objects of Map.groupBy(dropped, ({ storageSettingId }) => storageSettingId).values()) {
      const keys = objects.map(({ storageKey }) => storageKey);
      await storages
        .at(orgId, objects[0]!)
        .then((place) => place.store.remove(keys))
        .then(() => confirmObjects(sql, keys))
        .catch(() => undefined); // the sweep does it
    }
  }

  /** The bytes of copies that are there, once there is room for one more file. */
  async function expectRoom(orgId: string): Promise<number> {
    const isFull = ({ files, bytes }: { files: number; bytes: number }) =>
      files + filesComing(orgId) > MOST_FILES || bytes + bytesComing(orgId) >= room;
    let kept = await store.copiesOf(sql, orgId);
    if (isFull(kept) || kept.bytes > room / 2) {
      await drop(orgId);
      kept = await store.copiesOf(sql, orgId);
    }
    if (isFull(kept)) throw later();
    if (await incoming.isNearlyFull())
      throw new ProviderError('unavailable', 'There is hardly any room left on the disk: media from outside wait', {
        retryAfterMs: AGAIN_MS,
      });
    return kept.bytes;
  }

  async function fetched(orgId: string, url: string, maxBytes: number): Promise<FileRow> {
    const known = await store.freshCopy(sql, orgId, url, FRESH_MS);
    if (known) return known;
    using _ = await limiter.enter(orgId);
    const mine = { orgId, bytes: 0 };
    coming.add(mine);
    try {
      const kept = await expectRoom(orgId);
      await using received = await fetchFile({ url }, maxBytes, (bytes) => {
        mine.bytes += bytes;
        if (kept + bytesComing(orgId) > room) throw later();
      });
      const judged = { probed: await prober.look(orgId, received.path), bytes: received.size, path: received.path };
      return await ingest(orgId, judged, originOf(url, nameOfUrl(url)), expectRoomIn(orgId));
    } finally {
      coming.delete(mine);
    }
  }

  /** Refuses one more when others have taken the room meanwhile. */
  const expectRoomIn = (orgId: string) => async (tx: Sql) => {
    const all = await store.copiesOf(tx, orgId, 'hold'); // of every process
    if (all.files > MOST_FILES || all.bytes > room) throw later();
  };
  const originOf = (sourceUrl: string, name: string | undefined) => ({
    name,
    folder: null,
    listed: false,
    createdBy: null,
    sourceUrl,
  });

  return {
    drop,
    async made(orgId, name, make) {
      const sourceUrl = store.MADE_OF + name;
      const known = await store.freshCopy(sql, orgId, sourceUrl, MADE_FRESH_MS);
      if (known) return known;
      const picture = await make();
      if (!picture) return undefined;
      await expectRoom(orgId);
      await using received = await incoming.receive(picture.open(), picture.size);
      const { path, size } = received;
      const judged = { probed: await prober.look(orgId, path), bytes: size, path };
      return await ingest(orgId, judged, originOf(sourceUrl, picture.name), expectRoomIn(orgId));
    },
    of(orgId, url, maxBytes) {
      const key = `${orgId} ${maxBytes} ${url}`;
      const work =
        inFlight.get(key) ?? fetched(orgId, url, Math.min(maxBytes, largest)).finally(() => inFlight.delete(key));
      inFlight.set(key, work);
      return work;
    },
  };
}
