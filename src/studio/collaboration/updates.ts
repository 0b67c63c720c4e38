import * as Y from 'yjs';
import { areWithin, type DeletedBounds, deletedBounds, type Deletions, openDeletions } from './deletions.ts';

/** What an update may not hold; the sentence goes to the client. */
export class UpdateRefused extends Error {
  override readonly name = 'UpdateRefused';
}

/** Parts of a document whose predecessors are missing; more are refused. */
export const MOST_WAITING = 1_000;
/** Bytes of a document; what makes it larger is refused. */
export const MOST_BYTES = 5_000_000;
/** Updates that are kept apart before they are merged. */
const MOST_APART = 100;

/** What each root of a document is: a list of nodes, a map, a list of values. */
const ROOTS = { content: 'nodes', settings: 'map', media: 'values', plan: 'map' } as const;
/** A part of a document with a name. */
export type DocumentRoot = keyof typeof ROOTS;

function checkRoot({ parent, parentSub, content }: Y.Item, roots: readonly DocumentRoot[]): void {
  if (content instanceof Y.ContentDoc) throw new UpdateRefused('documents inside of a document are not kept');
  if (typeof parent !== 'string') return;
  const root = roots.find((name) => name === parent);
  if (!root) throw new UpdateRefused(`the document has ${roots.join(', ')}, and no other root`);
  const kind = ROOTS[root];
  const fits =
    content instanceof Y.ContentDeleted ||
    (kind === 'map'
      ? parentSub !== null
      : parentSub === null &&
        (kind === 'nodes'
          ? content instanceof Y.ContentType &&
            (content.type instanceof Y.XmlElement || content.type instanceof Y.XmlText)
          : !(content instanceof Y.ContentString || content instanceof Y.ContentFormat)));
  if (!fits) throw new UpdateRefused(`the root ${root} is of another type`);
}

/**
 * How many parts of an update wait for others, held against what is `known` (client → clock).
 * @throws UpdateRefused for what a document may not hold
 * @throws Error for bytes that are no update
 */
function judge(update: Uint8Array, known: ReadonlyMap<number, number>, roots: readonly DocumentRoot[]) {
  const { structs, ds } = Y.decodeUpdate(update);
  const ends = new Map<number, number>();
  for (const { id, length } of structs) ends.set(id.client, Math.max(ends.get(id.client) ?? 0, id.clock + length));
  const isMissing = (id: Y.ID | null): boolean =>
    id !== null && id.clock >= Math.max(known.get(id.client) ?? 0, ends.get(id.client) ?? 0);
  const next = new Map<number, number>();
  const clients = new Set<number>();
  let waiting = 0;
  for (const struct of structs) {
    const { id, length } = struct;
    if (struct instanceof Y.Skip) continue;
    if (id.clock + length > (known.get(id.client) ?? 0)) clients.add(id.client);
    if (struct instanceof Y.Item) checkRoot(struct, roots);
    const expected = next.get(id.client) ?? known.get(id.client) ?? 0;
    const waits =
      id.clock > expected ||
      (struct instanceof Y.Item &&
        (isMissing(struct.origin) ||
          isMissing(struct.rightOrigin) ||
          (struct.parent instanceof Y.ID && isMissing(struct.parent))));
    if (waits) waiting += 1;
    else next.set(id.client, Math.max(expected, id.clock + length));
  }
  return { waiting, clients, ends: next, deleted: ds.clients };
}

/** A state vector of nothing: no clients. */
const hasNothing = (vector: Uint8Array): boolean => vector.length === 1 && vector[0] === 0;

/**
 * The merged updates of one document with these roots, as bytes: nothing of it is built here. What it is handed has a buffer of its own,
 * for a decoder that reads beyond an update must find nothing there.
 */
export function openUpdates(state: Uint8Array, roots: readonly DocumentRoot[]) {
  let parts: Uint8Array[] = [state];
  let bytes = state.length;
  let clocks: Map<number, number> | undefined;
  let deletions: Deletions | undefined;
  let waiting = 0;
  const all = (): Uint8Array => {
    if (parts.length > 1) {
      parts = [Y.mergeUpdates(parts)];
      bytes = parts[0]!.length;
    }
    return parts[0]!;
  };
  let vector: Uint8Array | undefined;
  /** Read by everybody who comes, so it is made once for each change. */
  const stateVector = () => (vector ??= Y.encodeStateVectorFromUpdate(all()));
  const fresh = () => {
    if (waiting > 0) clocks = undefined;
    return known();
  };
  const known = () => (clocks ??= Y.decodeStateVector(stateVector()));
  /**
   * Read from the document once, by the first update that deletes only or is here already, where `learnDeleted` was not
   * told before; `add` keeps it.
   */
  const deleted = () => (deletions ??= openDeletions(deletedBounds(Y.decodeUpdate(all()).ds.clients)));
  const brings = ({ clients, deleted: ranges }: ReturnType<typeof judge>) =>
    clients.size > 0 || !deleted().hold(ranges);

  return {
    /** The document as one update. */
    get state() {
      return all();
    },
    get vector() {
      return stateVector();
    },
    /** Says whether the document is bytes of Yjs at all; reads all of it. */
    isDecodable(): boolean {
      try {
        stateVector();
        deleted();
        return true;
      } catch {
        return false;
      }
    },
    /** What somebody lacks who has `of`; throws for bytes that are no state vector. */
    missing: (of: Uint8Array): Uint8Array => (hasNothing(of) ? all() : Y.diffUpdate(all(), of)),
    /** Says whether somebody who has `of` has parts that are not here; throws for bytes that are no state vector. */
    lacks: (of: Uint8Array): boolean => {
      const here = fresh();
      return [...Y.decodeStateVector(of)].some(([client, clock]) => clock > (here.get(client) ?? 0));
    },
    /**
     * Takes an update in. Answers the clients that it is new from; undefined when nothing of it is new.
     * @throws UpdateRefused for what a document may not hold; nothing of it is taken in
     * @throws Error for bytes that are no update
     */
    add(update: Uint8Array): ReadonlySet<number> | undefined {
      const judged = judge(update, known(), roots);
      if (!brings(judged)) return undefined;
      // what only deletes of what is there makes it smaller, once it is compacted
      const mayGrow = judged.clients.size > 0 || !areWithin(judged.deleted, known());
      if (mayGrow && bytes + update.length > MOST_BYTES && all().length + update.length > MOST_BYTES)
        throw new UpdateRefused(`the document would be larger than ${MOST_BYTES} bytes`);
      if (waiting + judged.waiting > MOST_WAITING) {
        waiting = judge(all(), new Map(), roots).waiting;
        clocks = undefined;
        if (waiting + judged.waiting > MOST_WAITING)
          throw new UpdateRefused(`more than ${MOST_WAITING} parts wait for others that never came`);
      }
      waiting += judged.waiting;
      parts.push(update);
      deletions?.add(judged.deleted);
      vector = undefined;
      bytes += update.length;
      // behind what is there where a gap was closed: then too many count as waiting, until they are counted again
      for (const [client, end] of judged.ends) clocks?.set(client, end);
      if (parts.length > MOST_APART) all();
      return judged.clients;
    },
    /** Takes another copy of the document in; answers what is new of it, undefined for nothing. Throws as `add` does. */
    takeIn(copy: Uint8Array): Uint8Array | undefined {
      const before = stateVector();
      return this.add(copy) && Y.diffUpdate(copy, before);
    },
    /** Says whether an update holds something that is not there; throws as `add` does. */
    isNew(update: Uint8Array): boolean {
      return brings(judge(update, fresh(), roots));
    },
    get knowsDeleted() {
      return deletions !== undefined;
    },
    /**
     * Is told what is deleted in the document as it was: it is read in another thread, since a document of many small
     * parts would hold this one up for a second. What came since is read here.
     */
    learnDeleted(was: Uint8Array, bounds: DeletedBounds): void {
      if (parts[0] !== was || deletions) return;
      const told = openDeletions(bounds);
      for (const part of parts.slice(1)) told.add(Y.decodeUpdate(part).ds.clients);
      deletions = told;
    },
    /** Puts a smaller form of the document as it was in its place; what came since stays. */
    compact(was: Uint8Array, smaller: Uint8Array): void {
      if (parts[0] !== was) return;
      vector = undefined;
      bytes += smaller.length - was.length;
      parts[0] = smaller;
    },
  };
}
export type Updates = ReturnType<typeof openUpdates>;
