import type { PostAuthor } from '../../src/publishing/posts/index.ts';
import { AppError, type Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import {
  type Agreed,
  asWritten,
  canonical,
  type Contents,
  type DocumentKey,
  type Program,
  type SharedDocuments,
  type Typist,
  type VersionReason,
  whoCounts,
} from '../../src/studio/collaboration/index.ts';
import { openUpdates, UpdateRefused, type Updates } from '../../src/studio/collaboration/updates.ts';
import type { ClosedBy, Source } from './source.ts';

/** Why a document cannot be written: what it stands for may not be changed or is gone; it cannot be built. */
export type ReadOnly = ClosedBy | 'deleted' | 'unreadable';
/** What the server says of a document to everybody who has it open. */
export interface Status {
  savedVersion: string | null;
  savedAt: string | null;
  readOnly: ReadOnly | null;
  /** Why what is typed is not in the post. */
  problem: { code: string; message: string } | null;
}

/** What a process says of its writing to others that have the document open. */
export interface Saved {
  /** Of the stored document. */
  version: number;
  /** The versions of the post before and after what it saved there; alike when it saved nothing. */
  from: string | null;
  to: string | null;
  status: Pick<Status, 'savedVersion' | 'savedAt' | 'problem'>;
}

/** One document in this process, and what is known of it elsewhere. */
export interface Held {
  readonly documents: SharedDocuments;
  readonly clock: Clock;
  readonly log: Log;
  readonly key: DocumentKey;
  readonly source: Source;
  readonly updates: Updates;
  /** What is stored are no bytes of Yjs: whoever opens the document gets nothing of it, and nothing is written. */
  isBroken: boolean;
  /** Told what the document gains, and who has typed it; undefined: nobody, it is a change of the server. */
  onUpdate(update: Uint8Array, by: Typist | undefined): void;
  onStatus(status: Status): void;
  /** Agents have changed what the document stands for. */
  onAgents(names: readonly string[]): void;
  /** Another process has the document open, too. */
  onOtherProcess(): void;
  /** Of the stored document, and what stands beside it. */
  version: number;
  agreed: Agreed;
  recent: string[];
  /** Counts what came in, and says how much of it is written. */
  revision: number;
  written: number;
  /** The version of the post that was seen last. */
  seen: string | undefined;
  /** The version that was seen before this process has saved the post and not said so yet. */
  savedFrom: string | undefined;
  /** The version of the stored document of which another process has said that it is what it shares with this one. */
  heard: number | undefined;
  status: Status;
  /** The agents among those whose edits have not entered the document yet. */
  readonly agents: Set<string>;
  /**
   * Those who have typed since the document was written, and since the post was saved, each with the revision that came
   * of it: who types while it is written is among those of the next time. Those of other processes are among the latter,
   * as whoever saves the post saves what all have typed. `programs`: by which some of the former did.
   */
  readonly typedBy: {
    document: Map<string, number>;
    programs: Map<string, { program: Program; revision: number }>;
    post: Map<string, { by: Typist; revision: number }>;
  };
  /** The stored document names somebody whose typing is not saved. */
  namesTypist: boolean;
}

/** Notes who has typed since the document was written, and the program by which they did. */
export function noteTyping({ revision, typedBy }: Held, userId: string, program: Program | undefined): void {
  typedBy.document.set(userId, revision);
  if (program) typedBy.programs.set(`${program.kind} ${program.id}`, { program, revision });
}

/** Notes who has typed what is in the document and not in the post. */
export function noteUnsaved({ revision, typedBy }: Held, by: Typist): void {
  typedBy.post.set(by === 'unknown' ? by : `${by.userId} ${by.schedulesFreely}`, { by, revision });
}

/** In whose name the post is saved; undefined: nobody has typed since it was. */
export const unsavedBy = ({ typedBy }: Held): Typist | undefined =>
  whoCounts([...typedBy.post.values()].map(({ by }) => by));

/** Tries of a write that met another. */
export const MOST_TRIES = 10;
export const tooMany = () => new AppError('busy', 'The document is being written by many at once, try again shortly');

export function tell(held: Held, said: Partial<Status>): void {
  const next = { ...held.status, ...said };
  if (canonical(next) === canonical(held.status)) return;
  held.status = next;
  held.onStatus(next);
}

/** Takes in what another process has written; false: what is stored is what this one has written. */
export async function takeStored(held: Held): Promise<boolean> {
  const { documents, key, source, updates } = held;
  const stored = await documents.find(key);
  if (!stored) {
    await documents.insert(key, {
      state: updates.state,
      agreed: held.agreed,
      unsavedBy: unsavedBy(held) ?? null,
    });
    return true;
  }
  if (stored.version === held.version) return false;
  if (stored.writer !== documents.writer) held.onOtherProcess();
  held.version = stored.version;
  held.agreed = stored.agreed;
  held.recent = stored.recent;
  const gained = updates.takeIn(stored.state);
  if (gained) {
    const isWritten = held.revision === held.written;
    held.revision += 1; // what was read before does not have it
    if (isWritten) held.written = held.revision;
    held.onUpdate(gained, stored.unsavedBy ?? undefined);
  }
  held.namesTypist = stored.unsavedBy !== null;
  if (stored.unsavedBy) noteUnsaved(held, stored.unsavedBy);
  // whoever writes has taken in what stood: it may have all of this already
  const isKept = () => !openUpdates(stored.state, source.roots).isNew(updates.state);
  if (held.typedBy.document.size === 0 && isKept()) held.written = held.revision;
  return true;
}

/** Writes the document; `saving`: the hash of what is about to be saved to the post. */
export async function write(held: Held, saving?: string): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    if (held.revision === held.written && saving === undefined) return;
    const mine = held.revision;
    const typed = [...held.typedBy.document.keys()];
    const by = unsavedBy(held);
    const programs = [...held.typedBy.programs.values()].map(({ program }) => program);
    const written = { state: held.updates.state, saving, typed, programs, unsavedBy: by };
    const next = await held.documents.update(held.key, held.version, written);
    if (next !== undefined) {
      held.namesTypist = by !== undefined;
      held.version = next;
      held.written = mine;
      if (saving !== undefined) held.recent = [saving, ...held.recent];
      for (const [user, revision] of held.typedBy.document) if (revision <= mine) held.typedBy.document.delete(user);
      for (const [id, { revision }] of held.typedBy.programs) if (revision <= mine) held.typedBy.programs.delete(id);
      return;
    }
    await takeStored(held);
  }
  throw tooMany();
}

/**
 * Makes a change of the server: from `base`, or the document as it is, to `theirs`; the agents whose edits are in it have
 * taken part. False: another process has written
 * the document meanwhile and may have made it; nothing was done. `by`: who asked for it, where it is to be saved.
 */
export async function change(
  held: Held,
  base: Contents | undefined,
  theirs: Contents,
  agreeing: Contents | undefined,
  by?: PostAuthor,
): Promise<{ met: boolean } | false> {
  const { documents, key, source, updates } = held;
  const [was, mine] = [updates.state, held.revision];
  const merged = await documents.worker.run('merge', { state: was, base, theirs });
  const next = openUpdates(was, source.roots);
  try {
    next.add(merged.update);
  } catch (error) {
    if (!(error instanceof UpdateRefused)) throw error;
    throw new AppError('conflict', `The document cannot take this: ${error.message}`, {}, { cause: error });
  }
  const agreed = agreeing && { post: agreeing, document: asWritten(agreeing) };
  if (by) noteUnsaved(held, by);
  const unsaved = unsavedBy(held);
  const changed = await documents.update(key, held.version, {
    state: next.state,
    typed: [],
    programs: [...held.agents].map((name) => ({ kind: 'agent', id: null, name })),
    unsavedBy: unsaved,
    agreed,
  });
  if (changed === undefined) return false;
  held.namesTypist = unsaved !== undefined;
  held.version = changed;
  held.written = mine;
  if (agreed) held.agreed = agreed;
  if (updates.add(merged.update)) held.onUpdate(merged.update, by);
  return merged;
}

/** What the document says. On the way it loses what was deleted. */
export async function read({ documents, updates }: Held): Promise<Contents> {
  const was = updates.state;
  const built = await documents.worker.run('read', { state: was, withDeleted: !updates.knowsDeleted });
  if (built.deleted) updates.learnDeleted(was, built.deleted);
  updates.compact(was, built.state);
  return built.contents;
}

export const keepVersion = (
  { documents, key }: Held,
  reason: VersionReason,
  contents: Contents,
  label: string | null = null,
): Promise<string | undefined> => documents.keepVersion(key, { reason, label, contents });

/** Keeps what a document said before an edit of agents; restoring it takes this edit back, and nothing else. */
export const keepBeforeAgents = ({ documents, key, agreed, agents }: Held, theirs: Contents) =>
  documents.keepVersion(key, {
    reason: 'agent_edit',
    label: null,
    contents: agreed.document,
    changedTo: asWritten(theirs),
    agents: [...agents],
  });
