import type { PostAuthor } from '../../src/publishing/posts/index.ts';
import { asCallerError } from '../../src/platform/db/index.ts';
import { AppError, type Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import {
  asWritten,
  canonical,
  type Contents,
  type DocumentKey,
  type DocumentRow,
  type Documents,
  DocumentUnreadable,
  hashOfContents,
  type VersionReason,
} from '../../src/studio/collaboration/index.ts';
import { openUpdates } from '../../src/studio/collaboration/updates.ts';
import type { Found, Source } from './source.ts';

/** Why a document cannot be written: what it stands for is out or on its way, or gone; it cannot be built. */
export type ReadOnly = 'published' | 'deleted' | 'unreadable';
/** What the server says of a document to everybody who has it open. */
export interface Status {
  savedVersion: string | null;
  savedAt: string | null;
  readOnly: ReadOnly | null;
  /** Why what is typed is not in the post. */
  problem: { code: string; message: string } | null;
}

export interface DocumentDeps {
  documents: Documents;
  clock: Clock;
  log: Log;
}
interface Opened {
  key: DocumentKey;
  row: DocumentRow;
  source: Source;
  /** Told what the document gains, whoever has made it. */
  onUpdate(update: Uint8Array): void;
  onStatus(status: Status): void;
  /** Another process has the document open, too. */
  onOtherProcess(): void;
}

/** Tries of a save that met another change. */
const MOST_TRIES = 10;

const sameContents = (a: Contents, b: Contents): boolean => canonical(a) === canonical(b);

/**
 * One document in this process: takes updates in, and brings document and post together. Whatever is written is
 * conditional on what stands, so any number of processes may hold the same document.
 */
export function openDocument(
  { documents, clock, log }: DocumentDeps,
  { key, row, source, onUpdate, onStatus, onOtherProcess }: Opened,
) {
  const updates = openUpdates(row.state);
  let { version, agreed, recent } = row;
  /** Counts what came in, and what of it is written. */
  let [revision, written] = [0, 0];
  let seen: string | undefined;
  let last: Promise<unknown> = Promise.resolve();
  /** Those who have typed since the document was written, and since the post was saved. */
  const typedBy = { document: new Set<string>(), post: new Map<string, PostAuthor>() };
  let status: Status = { savedVersion: null, savedAt: null, readOnly: null, problem: null };

  const tell = (change: Partial<Status>) => {
    const next = { ...status, ...change };
    if (canonical(next) === canonical(status)) return;
    status = next;
    onStatus(status);
  };
  /** One write at a time in this process. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
  const gain = (update: Uint8Array | undefined) => {
    if (update) onUpdate(update);
  };

  /** Takes in what another process has written. */
  async function takeStored(): Promise<void> {
    const stored = await documents.find(key);
    if (!stored) return documents.insert(key, { state: updates.state, agreed });
    if (stored.version === version) return;
    if (stored.writer !== documents.writer) onOtherProcess();
    ({ version, agreed, recent } = stored);
    gain(updates.takeIn(stored.state));
    // whoever writes has taken in what stood: it may have all of this already
    if (typedBy.document.size === 0 && !openUpdates(stored.state).isNew(updates.state)) written = revision;
  }

  const isWritten = () => revision === written;
  async function write(saving?: string): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      if (isWritten() && saving === undefined) return;
      const mine = revision;
      const typed = [...typedBy.document];
      const next = await documents.update(key, version, { state: updates.state, saving, typed });
      if (next !== undefined) {
        version = next;
        written = mine;
        if (saving !== undefined) recent = [saving, ...recent];
        for (const user of typed) typedBy.document.delete(user);
        return;
      }
      await takeStored();
    }
    throw new AppError('busy', 'The document is being written by many at once, try again shortly');
  }

  /** Makes a change of the server, unless another process has written the document meanwhile: it may have made it. */
  async function change(base: Contents | undefined, theirs: Contents, agreeing: Contents | undefined) {
    const [was, mine] = [updates.state, revision];
    const merged = await documents.worker.run('merge', { state: was, base, theirs });
    const next = openUpdates(was);
    next.add(merged.update);
    const changed = await documents.update(key, version, {
      state: next.state,
      typed: [],
      agreed: agreeing && { post: agreeing, document: asWritten(agreeing) },
    });
    if (changed === undefined) return undefined;
    version = changed;
    written = mine;
    if (agreeing) agreed = { post: agreeing, document: asWritten(agreeing) };
    if (updates.add(merged.update)) gain(merged.update);
    return merged;
  }

  async function read(): Promise<Contents> {
    const was = updates.state;
    const built = await documents.worker.run('read', { state: was });
    updates.compact(was, built.state);
    return built.contents;
  }
  const keepVersion = (reason: VersionReason, contents: Contents, label: string | null = null) =>
    documents.keepVersion(key, { reason, label, contents });

  /** An edit from elsewhere enters the document. What both have changed stays as it was typed, and is in a version. */
  async function takeForeign(ours: Contents, theirs: Contents): Promise<void> {
    await write();
    const isTyped = !sameContents(ours, agreed.document);
    if (isTyped) await keepVersion('foreign_edit', ours);
    const merged = await change(agreed.document, theirs, theirs);
    if (!merged) return takeStored();
    if (merged.met) await keepVersion('foreign_edit', asWritten(theirs));
  }

  /** What was typed too late is kept as a version, and the document shows what goes out. */
  async function close(ours: Contents, now: Found): Promise<boolean> {
    tell({ readOnly: 'published', problem: null });
    typedBy.post.clear();
    if (sameContents(ours, agreed.document)) return true;
    await keepVersion('too_late', ours);
    if (await change(undefined, now.contents, now.contents)) return true;
    await takeStored();
    return false;
  }

  /** Who saves: of several who typed, somebody who may not schedule unasked where there is one. */
  const author = (): PostAuthor | undefined => {
    const all = [...typedBy.post.values()];
    return all.find(({ schedulesFreely }) => !schedulesFreely) ?? all.at(-1);
  };

  /** One try to bring both together; false: something was changed meanwhile. */
  async function tryToAgree(): Promise<boolean> {
    const ours = await read();
    const now = await source.read();
    if (!now) {
      tell({ readOnly: 'deleted', problem: null });
      return true;
    }
    seen = now.version;
    if (!sameContents(now.contents, agreed.post)) {
      const hash = hashOfContents(now.contents);
      if (!recent.includes(hash)) await takeStored(); // it may be what another process has saved
      if (!recent.includes(hash) && !sameContents(now.contents, agreed.post)) {
        await takeForeign(ours, now.contents);
        return false;
      }
      agreed = { post: now.contents, document: asWritten(now.contents) };
      await documents.writeAgreed(key, agreed);
      return false;
    }
    if (!now.isOpen) return close(ours, now);
    tell({ readOnly: null });
    if (!sameContents(ours, agreed.document)) {
      const prepared = await source.prepare(ours, agreed.document, now, author());
      await write(hashOfContents(prepared.contents));
      try {
        await prepared.commit();
      } catch (error) {
        const code = error instanceof AppError ? error.code : undefined;
        if (code === 'conflict' || code === 'already_published' || code === 'not_found') return false;
        throw error;
      }
      agreed = { post: prepared.contents, document: ours };
      await documents.writeAgreed(key, agreed);
    }
    typedBy.post.clear();
    tell({ savedVersion: version.toString(), savedAt: clock.now().toISOString(), problem: null });
    return true;
  }

  /** Brings document and post together; what cannot be saved stays in the document, and `problem` says why. */
  async function agree(): Promise<void> {
    try {
      await write();
      for (let tries = 0; tries < MOST_TRIES; tries += 1) if (await tryToAgree()) return;
      throw new AppError('busy', 'The post is being changed by many at once, try again shortly');
    } catch (thrown) {
      if (thrown instanceof DocumentUnreadable) {
        if (status.readOnly !== 'unreadable')
          log.error({ orgId: key.orgId, room: key.room, err: thrown }, 'a document cannot be built and is read-only');
        return tell({ readOnly: 'unreadable', problem: null });
      }
      const { code, message, status: http } = asCallerError(thrown);
      tell({ problem: { code, message } });
      if (http >= 500) throw thrown; // to be tried again
    }
  }

  return {
    key,
    get status() {
      return status;
    },
    get vector() {
      return updates.vector;
    },
    get isWritten() {
      return isWritten();
    },
    missing: (vector: Uint8Array) => updates.missing(vector),
    lacks: (vector: Uint8Array) => updates.lacks(vector),
    isNew: (update: Uint8Array) => updates.isNew(update),
    /** Takes in what somebody types; false when nothing of it is new. Throws as `Updates.add`. */
    type(update: Uint8Array, by: PostAuthor): boolean {
      if (!updates.add(update)) return false;
      revision += 1;
      typedBy.document.add(by.userId);
      typedBy.post.set(by.userId, by);
      onUpdate(update);
      return true;
    },
    /** Takes in what another process sends, and tells nobody; false when nothing of it is new. Throws as `Updates.add`. */
    receive(update: Uint8Array): boolean {
      if (!updates.add(update)) return false;
      revision += 1;
      return true;
    },
    write: () => inTurn(() => write()),
    agree: () => inTurn(agree),
    /** Looks again when somebody else has written the document or changed the post. */
    look(
      stored: number | undefined,
      found: { version: string; isOpen: boolean } | undefined,
    ): Promise<void> | undefined {
      const stands = found === undefined ? 'deleted' : found.isOpen ? null : 'published';
      const isKnown = stands === status.readOnly || status.readOnly === 'unreadable';
      if (stored === version && isKnown && (found === undefined || found.version === seen)) return undefined;
      return inTurn(async () => {
        await takeStored();
        await agree();
      });
    },
    /** Keeps what the document says as a version; undefined when the latest one says the same. */
    keep: (reason: VersionReason, label: string | null = null) =>
      inTurn(async () => {
        await write();
        return keepVersion(reason, await read(), label);
      }),
    /**
     * Makes the document what a version says, as one more change; what it said before is a version.
     * @throws AppError `conflict` while it may not be written
     */
    restore: (contents: Contents, by: PostAuthor) =>
      inTurn(async () => {
        await agree();
        if (status.readOnly)
          throw new AppError('conflict', 'The document cannot be written: its post is out, on its way or gone');
        for (let tries = 0; tries < MOST_TRIES; tries += 1) {
          await write();
          await keepVersion('restore', await read());
          if (await change(undefined, contents, undefined)) {
            typedBy.document.add(by.userId);
            typedBy.post.set(by.userId, by);
            return agree();
          }
          await takeStored();
        }
        throw new AppError('busy', 'The document is being written by many at once, try again shortly');
      }),
  };
}
export type OpenDocument = ReturnType<typeof openDocument>;
