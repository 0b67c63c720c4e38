import { AppError } from '../../src/platform/kernel/index.ts';
import type { PostAuthor } from '../../src/publishing/posts/index.ts';
import {
  type DocumentRow,
  DocumentUnreadable,
  type Program,
  type Typist,
  type VersionReason,
  type VersionWithContents,
} from '../../src/studio/collaboration/index.ts';
import { openUpdates } from '../../src/studio/collaboration/updates.ts';
import { agree } from './agreement.ts';
import {
  change,
  type Held,
  keepVersion,
  MOST_TRIES,
  noteTyping,
  noteUnsaved,
  read,
  type Saved,
  takeStored,
  tell,
  tooMany,
  unsavedBy as whoUnsaved,
  write,
} from './held.ts';
import type { Found } from './source.ts';

type Opening = Pick<
  Held,
  'documents' | 'clock' | 'log' | 'key' | 'source' | 'onUpdate' | 'onStatus' | 'onAgents' | 'onOtherProcess'
> & { row: DocumentRow };

const readOnly = () =>
  new AppError('conflict', 'The document cannot be written: what it stands for is out, approved, on its way or gone');

/** A state vector and an update of a document in which nothing is. */
const NOTHING = { vector: Uint8Array.of(0), update: Uint8Array.of(0, 0) };

/** Does something with what a document says, for somebody who asked for it. */
async function built<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DocumentUnreadable)) throw error;
    throw new AppError('conflict', 'The document cannot be built, so it has no version', {}, { cause: error });
  }
}

/** What a version says; where it was kept before an edit of an agent, what that edit made of it, too. */
type Restored = Pick<VersionWithContents, 'contents' | 'changedTo'>;

/**
 * Makes the document what a version says, or takes back the one edit that a version was kept before, as one more change;
 * what it said before is a version.
 */
async function restore(
  held: Held,
  { contents, changedTo }: Restored,
  by: PostAuthor,
  program: Program | undefined,
): Promise<void> {
  await agree(held);
  if (held.status.readOnly) throw readOnly();
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    await write(held);
    await keepVersion(held, 'restore', await read(held));
    if (await change(held, changedTo ?? undefined, contents, undefined, by)) {
      noteTyping(held, by.userId, program);
      await agree(held);
      const { problem } = held.status;
      if (problem)
        throw new AppError('conflict', `The document says it again, and cannot be saved: ${problem.message}`);
      return;
    }
    await takeStored(held);
  }
  throw tooMany();
}

/**
 * One document in this process: takes updates in, and brings document and post together. Whatever is written is
 * conditional on what stands, so any number of processes may hold the same document.
 */
export function openDocument({ row, ...opening }: Opening) {
  const { version, agreed, recent, state, unsavedBy } = row;
  const updates = openUpdates(state, opening.source.roots);
  const held: Held = {
    ...opening,
    updates,
    isBroken: false,
    version,
    agreed,
    recent,
    revision: 0,
    written: 0,
    seen: undefined,
    savedFrom: undefined,
    heard: undefined,
    agents: new Set(),
    status: { savedVersion: null, savedAt: null, readOnly: null, problem: null },
    typedBy: { document: new Map(), programs: new Map(), post: new Map() },
    namesTypist: unsavedBy !== null,
  };
  if (unsavedBy) noteUnsaved(held, unsavedBy);
  let last: Promise<unknown> = Promise.resolve();
  /** One write at a time in this process. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };

  return {
    key: held.key,
    get status() {
      return held.status;
    },
    get vector() {
      return held.isBroken ? NOTHING.vector : updates.vector;
    },
    get isWritten() {
      return held.revision === held.written;
    },
    /** Who has typed what is not saved to the post yet, here or in another process. */
    get unsavedBy() {
      return whoUnsaved(held);
    },
    missing: (vector: Uint8Array) => (held.isBroken ? NOTHING.update : updates.missing(vector)),
    lacks: (vector: Uint8Array) => !held.isBroken && updates.lacks(vector),
    isNew: (update: Uint8Array) => held.isBroken || updates.isNew(update),
    /** Takes in what somebody types, by a program or not; false when nothing of it is new. Throws as `Updates.add`. */
    type(update: Uint8Array, by: PostAuthor, program?: Program): boolean {
      if (!updates.add(update)) return false;
      held.revision += 1;
      noteTyping(held, by.userId, program);
      noteUnsaved(held, by);
      held.onUpdate(update, by);
      return true;
    },
    /**
     * Takes in what another process sends that `by` has typed, and tells nobody; false when nothing of it is new.
     * Throws as `Updates.add`.
     */
    receive(update: Uint8Array, by: Typist | undefined): boolean {
      if (held.isBroken || !updates.add(update)) return false;
      held.revision += 1;
      if (by) noteUnsaved(held, by);
      return true;
    },
    write: () => inTurn(() => write(held)),
    agree: () => inTurn(() => agree(held)),
    /** What others that have the document open are told of what this process has written since it was asked last. */
    takeSaved(): Saved {
      const { savedFrom, seen, status } = held;
      held.savedFrom = undefined;
      const { savedVersion, savedAt, problem } = status;
      const to = seen ?? null;
      return { version: held.version, from: savedFrom ?? to, to, status: { savedVersion, savedAt, problem } };
    },
    /**
     * Another process has written what it shares with this one, so neither that nor what it saved is news. Where this one
     * has not seen what the post was before, somebody else has changed it, and it is looked at.
     */
    follow({ from, to, status, ...saved }: Saved): void {
      held.heard = saved.version;
      if (from !== null && to !== null && held.seen === from) held.seen = to;
      tell(held, status);
    },
    /** Looks again when somebody else has written the document or changed the post. */
    look(stored: number | undefined, found: Pick<Found, 'version' | 'closed'> | undefined): Promise<void> | undefined {
      const stands = found === undefined ? 'deleted' : found.closed;
      const isKnown = () =>
        (stands === held.status.readOnly || held.status.readOnly === 'unreadable') &&
        (found === undefined || found.version === held.seen);
      if ((stored === held.version || (stored !== undefined && stored === held.heard)) && isKnown()) return undefined;
      return inTurn(async () => {
        // its own write may have been under way when it was looked
        if ((await takeStored(held)) || !isKnown()) await agree(held);
      });
    },
    /**
     * Keeps what the document says as a version; undefined when the latest one says the same.
     * @throws AppError `conflict` where it cannot be built
     */
    keep: (reason: VersionReason, label: string | null = null) =>
      inTurn(async () => {
        await write(held);
        return keepVersion(held, reason, await built(read(held)), label);
      }),
    /** @throws AppError `conflict` while the document may not be written, cannot be built, or has no room for it */
    restore: (kept: Restored, by: PostAuthor, program?: Program) =>
      inTurn(() => built(restore(held, kept, by, program))),
  };
}
export type OpenDocument = ReturnType<typeof openDocument>;
