import { asCallerError } from '../../src/platform/db/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import {
  type Agreed,
  asWritten,
  canonical,
  type Contents,
  DocumentUnreadable,
  hashOfContents,
} from '../../src/studio/collaboration/index.ts';
import {
  change,
  type Held,
  keepBeforeAgents,
  keepVersion,
  MOST_TRIES,
  read,
  takeStored,
  tell,
  unsavedBy,
  write,
} from './held.ts';
import type { Found } from './source.ts';

// How a document and what it stands for are brought together. Each step is conditional on what stands, and repeated when
// somebody else was first.

const sameContents = (a: Contents, b: Contents): boolean => canonical(a) === canonical(b);

/** An edit from elsewhere enters the document. What both have changed stays as it was typed, and is in a version. */
async function takeForeign(held: Held, ours: Contents, theirs: Contents): Promise<void> {
  await write(held);
  if (!sameContents(ours, held.agreed.document)) await keepVersion(held, 'foreign_edit', ours);
  if (held.agents.size > 0) await keepBeforeAgents(held, theirs);
  const changed = await change(held, held.agreed.document, theirs, theirs);
  if (!changed) return void (await takeStored(held));
  held.agents.clear();
  if (changed.met) await keepVersion(held, 'foreign_edit', asWritten(theirs));
}

/**
 * What was typed too late is kept as a version, and the document shows what goes out. What was typed since it was read
 * stays in it, and is kept the next time.
 */
async function close(held: Held, ours: Contents, now: Found): Promise<boolean> {
  tell(held, { readOnly: now.closed, problem: null });
  if (sameContents(ours, held.agreed.document)) return true;
  await keepVersion(held, 'too_late', ours);
  if (await change(held, ours, now.contents, now.contents)) return true;
  await takeStored(held);
  return false;
}

/** Forgets who has typed what is in the post now, and not who has typed since it was read. */
function forgetTyping({ typedBy }: Held, until: number): void {
  for (const [name, { revision }] of typedBy.post) if (revision <= until) typedBy.post.delete(name);
}

/**
 * Notes with the document what both agree on. Where another process has written it since, its row names who typed until
 * that one agrees, too: a post may wait for approval once more than it must, and never once less.
 */
async function noteAgreed(held: Held, agreed: Agreed): Promise<void> {
  const by = unsavedBy(held);
  held.agreed = agreed;
  await held.documents.writeAgreed(held.key, agreed, { version: held.version, unsavedBy: by });
  held.namesTypist = by !== undefined;
}

/** Saves what was typed; false: what it is saved to was changed meanwhile. */
async function save(held: Held, ours: Contents, now: Found, revision: number): Promise<boolean> {
  const { source } = held;
  const by = unsavedBy(held);
  const prepared = await source.prepare(ours, held.agreed.document, now, by === 'unknown' ? undefined : by);
  await write(held, hashOfContents(prepared.contents));
  if (!(await prepared.commit())) return false;
  held.savedFrom = now.version;
  held.seen = prepared.version ?? held.seen; // its own change is no news
  forgetTyping(held, revision);
  await noteAgreed(held, { post: prepared.contents, document: ours });
  return true;
}

/** The post holds what it did not hold when both agreed: another process has saved it, or somebody has edited it. */
async function takeChanged(held: Held, ours: Contents, { contents }: Found): Promise<void> {
  const hash = hashOfContents(contents);
  if (!held.recent.includes(hash)) await takeStored(held);
  if (!held.recent.includes(hash) && !sameContents(contents, held.agreed.post))
    return takeForeign(held, ours, contents);
  await noteAgreed(held, { post: contents, document: asWritten(contents) });
}

/** One try to bring both together; false: something was changed meanwhile. */
async function tryToAgree(held: Held): Promise<boolean> {
  const { revision } = held;
  const ours = await read(held);
  const now = await held.source.read(held.seen);
  if (!now) {
    tell(held, { readOnly: 'deleted', problem: null });
    return true;
  }
  held.seen = now.version;
  for (const agent of now.agents ?? []) held.agents.add(agent);
  if (now.agents?.length) held.onAgents(now.agents);
  if (!sameContents(now.contents, held.agreed.post)) {
    await takeChanged(held, ours, now);
    return false;
  }
  held.agents.clear(); // another process has taken their edits in, or they changed nothing that is here
  if (now.closed) {
    forgetTyping(held, revision);
    return close(held, ours, now);
  }
  tell(held, { readOnly: null });
  if (sameContents(ours, held.agreed.document)) {
    forgetTyping(held, revision);
    if (held.namesTypist) await noteAgreed(held, held.agreed);
  } else if (!(await save(held, ours, now, revision))) return false;
  tell(held, { savedVersion: String(held.version), savedAt: held.clock.now().toISOString(), problem: null });
  return true;
}

/**
 * Brings document and post together; what cannot be saved stays in the document, and `problem` says why.
 * @throws what may pass, and is to be tried again
 */
export async function agree(held: Held): Promise<void> {
  try {
    await write(held);
    for (let tries = 0; tries < MOST_TRIES; tries += 1) if (await tryToAgree(held)) return;
    throw new AppError('busy', 'The post is being changed by many at once, try again shortly');
  } catch (thrown) {
    const { orgId, room } = held.key;
    if (thrown instanceof DocumentUnreadable) {
      if (held.status.readOnly !== 'unreadable') {
        held.isBroken = !held.updates.isDecodable();
        held.log.error({ orgId, room, err: thrown }, 'a document cannot be built and is read-only');
      }
      return tell(held, { readOnly: 'unreadable', problem: null });
    }
    const { code, message, status } = asCallerError(thrown);
    tell(held, { problem: { code, message } });
    if (status >= 500) throw thrown;
  }
}
