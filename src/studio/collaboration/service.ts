import type { Database } from '../../platform/db/index.ts';
import { type Clock, isId, newId, notFound, sha256Hex } from '../../platform/kernel/index.ts';
import { asWritten, canonical, type Contents } from './contents.ts';
import * as store from './store.ts';
import * as versions from './versions-store.ts';
import { openDocumentWorker } from './worker.ts';

export interface CollaborationOptions {
  sql: Database;
  clock: Clock;
  /** This start of this process. */
  incarnation: string;
}

/** The hash of contents, whatever the order of their keys. */
export const hashOfContents = ({ content, settings, media, plan }: Contents): string =>
  sha256Hex(canonical([content, settings, media, ...(plan ? [plan] : [])]));

/** SharedDocuments that people write together, as they are stored, and the versions of them that are kept. */
export function openDocuments({ sql, clock, incarnation: writer }: CollaborationOptions) {
  const worker = openDocumentWorker({ clock });
  return {
    /** This start of this process, which is the writer of what it writes. */
    writer,
    /** Another process has written a document that was open here, though one alone should serve them. */
    isShared: false,
    /** Builds documents beside this thread. */
    worker,
    find: (key: store.DocumentKey) => store.findDocument(sql, key),
    /**
     * The document, made of what its post holds when there is none yet; two processes that come at once get the same
     * one, for a document that is made twice holds everything twice.
     */
    async open(key: store.DocumentKey, read: () => Promise<Contents>): Promise<store.DocumentRow> {
      const known = await store.findDocument(sql, key);
      if (known) return known;
      const post = await read();
      const document = asWritten(post);
      const state = await worker.run('sow', { contents: post });
      await store.insertDocument(sql, key, { state, agreed: { post, document }, unsavedBy: null, writer });
      const stored = await store.findDocument(sql, key);
      if (!stored) throw notFound();
      return stored;
    },
    /** Stores a document that was deleted while it was open. */
    insert: (key: store.DocumentKey, document: Pick<store.DocumentRow, 'state' | 'agreed' | 'unsavedBy'>) =>
      store.insertDocument(sql, key, { ...document, writer }),
    update: (key: store.DocumentKey, version: number, change: Omit<store.DocumentChange, 'writer'>) =>
      store.updateDocument(sql, key, version, { ...change, writer }),
    writeAgreed: (key: store.DocumentKey, agreed: store.Agreed, of: Parameters<typeof store.writeAgreed>[3]) =>
      store.writeAgreed(sql, key, agreed, of),
    versionsOf: (keys: readonly store.DocumentKey[]) => store.versionsOf(sql, keys),

    keepVersion: (key: store.DocumentKey, version: Omit<versions.NewVersion, 'id'>) => {
      const id = newId();
      return versions.insertVersion(sql, key, { ...version, id }).then((kept) => (kept ? id : undefined));
    },
    listVersions: (key: store.DocumentKey) => versions.listVersions(sql, key),
    /** @throws AppError `not_found` */
    async getVersion(key: store.DocumentKey, id: string) {
      const found = isId(id) ? await versions.findVersion(sql, key, id) : undefined;
      if (!found) throw notFound();
      return found;
    },
    /** Forgets old versions and documents without a post, at most `limit` of each; answers how many of the more. */
    sweep: async (limit: number) =>
      Math.max(await versions.dropOldVersions(sql, limit), await store.dropOrphans(sql, limit)),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  };
}
export type SharedDocuments = ReturnType<typeof openDocuments>;
