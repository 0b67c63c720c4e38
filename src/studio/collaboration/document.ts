import * as Y from 'yjs';
import { htmlOf, readBlocks } from './blocks.ts';
import { asWritten, canonical, type Contents, plainJson } from './contents.ts';
import { blocksOf, htmlOfNodes, nodeOf, rewriteNode } from './fragment.ts';
import { type DeletedBounds, deletedBounds } from './deletions.ts';
import { mergeLists } from './three-way.ts';

const partsOf = (doc: Y.Doc) => ({
  content: doc.getXmlFragment('content'),
  settings: doc.getMap<unknown>('settings'),
  media: doc.getArray<unknown>('media'),
  plan: doc.getMap<unknown>('plan'),
});

function open(state: Uint8Array): Y.Doc {
  const doc = new Y.Doc({ gc: true });
  partsOf(doc); // the types of the roots, before an update can say otherwise
  Y.applyUpdate(doc, state);
  return doc;
}

function contentsOf(doc: Y.Doc): Contents {
  const { content, settings, media, plan } = partsOf(doc);
  return {
    content: htmlOf(blocksOf(content)),
    settings: (plainJson(settings.toJSON()) ?? {}) as Record<string, unknown>, // of an object it is one
    media: (plainJson(media.toJSON()) ?? []) as unknown[], // and of an array one
    ...(plan.size > 0 && { plan: (plainJson(plan.toJSON()) ?? {}) as Record<string, unknown> }),
  };
}

/** A new document of these contents. */
export function sowDocument({ content, settings, media, plan = {} }: Contents): Uint8Array {
  const doc = new Y.Doc();
  const parts = partsOf(doc);
  doc.transact(() => {
    parts.content.insert(0, readBlocks(content).map(nodeOf));
    for (const [key, value] of Object.entries(settings)) parts.settings.set(key, value);
    parts.media.insert(0, [...media]);
    for (const [key, value] of Object.entries(plan)) parts.plan.set(key, value);
  });
  return Y.encodeStateAsUpdate(doc);
}

/** What a document holds, and the same document without what was deleted; every id is kept. */
export interface ReadDocument {
  contents: Contents;
  /** The same document without what was deleted. */
  state: Uint8Array;
  /** What is deleted, where that is asked for; undefined where deletions wait for parts that never came. */
  deleted: DeletedBounds | undefined;
}
export function readDocument(state: Uint8Array, { withDeleted = false } = {}): ReadDocument {
  const doc = open(state);
  const deleted =
    withDeleted && !doc.store.pendingDs
      ? deletedBounds(Y.createDeleteSetFromStructStore(doc.store).clients)
      : undefined;
  return { contents: contentsOf(doc), state: Y.encodeStateAsUpdate(doc), deleted };
}

export interface Merged {
  /** What the document gains. */
  update: Uint8Array;
  /** Something was changed on both sides: what the document said stays. */
  met: boolean;
}

/**
 * Brings what changed from `base` to `theirs` into a document, block by block; `base` undefined: the document as it is,
 * so that it becomes `theirs`.
 */
export function mergeIntoDocument(state: Uint8Array, base: Contents | undefined, theirs: Contents): Merged {
  const doc = open(state);
  const before = Y.encodeStateVector(doc);
  const from = asWritten(base ?? contentsOf(doc));
  const to = asWritten(theirs);
  const parts = partsOf(doc);
  const met = doc.transact(() =>
    [
      mergeContent(parts.content, from.content, to.content),
      mergeFields(parts.settings, from.settings, to.settings),
      mergeMedia(parts.media, from.media, to.media),
      mergeFields(parts.plan, from.plan ?? {}, to.plan ?? {}, { isFixed: true }),
    ].includes(true),
  );
  return { update: Y.encodeStateAsUpdate(doc, before), met };
}

function mergeContent(fragment: Y.XmlFragment, base: string, theirs: string): boolean {
  const wanted = readBlocks(theirs);
  const { changes, met } = mergeLists(
    readBlocks(base).map((block) => htmlOf([block])),
    htmlOfNodes(fragment),
    wanted.map((block) => htmlOf([block])),
  );
  for (const { at, remove, from, to } of changes) {
    const put = wanted.slice(from, to);
    if (remove === 1 && put.length === 1 && rewriteNode(fragment.get(at), put[0]!)) continue;
    if (remove > 0) fragment.delete(at, remove);
    if (put.length > 0) fragment.insert(at, put.map(nodeOf));
  }
  return met;
}

/** `isFixed`: which fields there are is for them to say: one that they have no more goes, whatever was typed into it. */
function mergeFields(
  map: Y.Map<unknown>,
  base: Contents['settings'],
  theirs: Contents['settings'],
  { isFixed = false } = {},
): boolean {
  const ours = (plainJson(map.toJSON()) ?? {}) as Record<string, unknown>; // of an object it is one
  let met = false;
  for (const key of new Set([...Object.keys(base), ...Object.keys(theirs)])) {
    const [was, wanted, is] = [base[key], theirs[key], ours[key]].map(canonical);
    if (was === wanted || is === wanted) continue;
    const isTyped = is !== was;
    if (isTyped) met = true;
    if (wanted === undefined && (!isTyped || isFixed)) map.delete(key);
    else if (!isTyped) map.set(key, theirs[key]);
  }
  return met;
}

function mergeMedia(array: Y.Array<unknown>, base: readonly unknown[], theirs: readonly unknown[]): boolean {
  const ours = (plainJson(array.toJSON()) ?? []) as unknown[]; // of an array it is one
  const { changes, met } = mergeLists(base.map(canonical), ours.map(canonical), theirs.map(canonical));
  for (const { at, remove, from, to } of changes) {
    if (remove > 0) array.delete(at, remove);
    if (to > from) array.insert(at, theirs.slice(from, to));
  }
  return met;
}
