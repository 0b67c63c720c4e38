/** What an update deletes: client → ranges of its clock, as Yjs decodes them; of a foreign update in any order. */
export type Deleted = ReadonlyMap<number, readonly { clock: number; len: number }[]>;

/** More ranges of one client than this are put in by one pass over all of them. */
const MOST_APART = 32;

/** The first index whose number is not less than `value`; `after`: is greater. */
function indexOf(bounds: readonly number[], value: number, after: boolean): number {
  let [low, high] = [0, bounds.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bounds[middle]! < value || (after && bounds[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Adds a range to bounds that rise: start, end, start, end. Ranges that touch become one. */
function addRange(bounds: number[], start: number, end: number): void {
  const from = indexOf(bounds, start, false);
  const to = indexOf(bounds, end, true);
  bounds.splice(from, to - from, ...(from % 2 === 0 ? [start] : []), ...(to % 2 === 0 ? [end] : []));
}

/** The bounds of many ranges in any order. */
function boundsOf(ranges: readonly (readonly [start: number, end: number])[]): number[] {
  const bounds: number[] = [];
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = bounds.length - 1;
    if (last > 0 && start <= bounds[last]!) bounds[last] = Math.max(bounds[last]!, end);
    else bounds.push(start, end);
  }
  return bounds;
}

/** The same of each client, in a form that is handed from one thread to another at once. */
export type DeletedBounds = ReadonlyMap<number, Float64Array>;
export const deletedBounds = (deleted: Deleted): DeletedBounds =>
  new Map(
    [...deleted].map(([client, ranges]) => [
      client,
      Float64Array.from(boundsOf(ranges.filter(({ len }) => len > 0).map(({ clock, len }) => [clock, clock + len]))),
    ]),
  );

const rangesOf = (bounds: readonly number[]): [number, number][] =>
  Array.from({ length: bounds.length / 2 }, (_, n) => [bounds[2 * n]!, bounds[2 * n + 1]!]);

/** Says whether all deletions are of clocks that a document has (client → clock). */
export function areWithin(deleted: Deleted, clocks: ReadonlyMap<number, number>): boolean {
  for (const [client, ranges] of deleted)
    if (ranges.some(({ clock, len }) => clock + len > (clocks.get(client) ?? 0))) return false;
  return true;
}

/** The deleted ranges of a document, so that an update is judged without reading the document. */
export function openDeletions(deleted: DeletedBounds) {
  const boundsBy = new Map([...deleted].map(([client, bounds]) => [client, Array.from(bounds)]));

  function add(more: Deleted): void {
    for (const [client, all] of more) {
      const ranges = all.filter(({ len }) => len > 0);
      if (ranges.length === 0) continue;
      const bounds = boundsBy.get(client) ?? [];
      if (ranges.length <= MOST_APART) {
        for (const { clock, len } of ranges) addRange(bounds, clock, clock + len);
        boundsBy.set(client, bounds);
      } else {
        const added = ranges.map(({ clock, len }) => [clock, clock + len] as const);
        boundsBy.set(client, boundsOf([...rangesOf(bounds), ...added]));
      }
    }
  }
  return {
    add,
    /** Says whether every deletion of `some` is here. */
    hold(some: Deleted): boolean {
      for (const [client, ranges] of some) {
        const bounds = boundsBy.get(client) ?? [];
        for (const { clock, len } of ranges) {
          const next = indexOf(bounds, clock, true);
          if (len > 0 && (next % 2 === 0 || bounds[next]! < clock + len)) return false;
        }
      }
      return true;
    },
  };
}
export type Deletions = ReturnType<typeof openDeletions>;
