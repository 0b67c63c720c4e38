/** What is done to a list: `remove` entries at `at`, and in their place those of the other list from `from` to `to`. */
export interface ListChange {
  at: number;
  remove: number;
  from: number;
  to: number;
}

/** Two lists are compared entry by entry up to so many pairs; beyond them only their ends are. */
const MOST_PAIRS = 4_000_000;

/** For each entry of `a` the entry of `b` that it is, or -1: a longest common subsequence. */
function matched(a: readonly string[], b: readonly string[]): number[] {
  const matches: number[] = a.map(() => -1);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) matches[start] = start++;
  let [aEnd, bEnd] = [a.length, b.length];
  while (aEnd > start && bEnd > start && a[aEnd - 1] === b[bEnd - 1]) matches[--aEnd] = --bEnd;
  const [rows, columns] = [aEnd - start, bEnd - start];
  if (rows === 0 || columns === 0 || rows * columns > MOST_PAIRS) return matches;
  const lengths = Array.from({ length: rows + 1 }, () => new Uint32Array(columns + 1));
  for (let r = rows - 1; r >= 0; r -= 1)
    for (let c = columns - 1; c >= 0; c -= 1)
      lengths[r]![c] =
        a[start + r] === b[start + c]
          ? lengths[r + 1]![c + 1]! + 1
          : Math.max(lengths[r + 1]![c]!, lengths[r]![c + 1]!);
  for (let r = 0, c = 0; r < rows && c < columns;) {
    if (a[start + r] === b[start + c]) matches[start + r++] = start + c++;
    else if (lengths[r + 1]![c]! >= lengths[r]![c + 1]!) r += 1;
    else c += 1;
  }
  return matches;
}

interface Hunk {
  fromBase: number;
  toBase: number;
  fromTheirs: number;
  toTheirs: number;
}
/** Where `theirs` differs from `base`. */
function hunksOf(base: readonly string[], theirs: readonly string[]): Hunk[] {
  const matches = [...matched(base, theirs), theirs.length];
  const hunks: Hunk[] = [];
  let [b, t] = [0, 0];
  for (const [n, other] of matches.entries()) {
    if (other < 0) continue;
    if (n > b || other > t) hunks.push({ fromBase: b, toBase: n, fromTheirs: t, toTheirs: other });
    [b, t] = [n + 1, other + 1];
  }
  return hunks;
}

/**
 * What brings the changes from `base` to `theirs` into `ours`, to be done from the last to the first. An entry that both
 * have changed stays as it is in `ours`; `met` says that there was one.
 */
export function mergeLists(
  base: readonly string[],
  ours: readonly string[],
  theirs: readonly string[],
): { changes: ListChange[]; met: boolean } {
  const kept = matched(base, ours);
  const changes: ListChange[] = [];
  let met = false;
  /** Where in `ours` something goes in before the entry `n` of the base; entries in between were changed, one for one. */
  const placeBefore = (n: number): number => {
    const before = kept.slice(0, n).findLastIndex((place) => place >= 0);
    const after = kept.slice(n).find((place) => place >= 0) ?? ours.length;
    return Math.min((before < 0 ? 0 : kept[before]! + 1) + (n - before - 1), after);
  };
  for (const { fromBase, toBase, fromTheirs, toTheirs } of hunksOf(base, theirs)) {
    const count = toBase - fromBase;
    const places = kept.slice(fromBase, toBase);
    if (count === toTheirs - fromTheirs) {
      for (const [n, at] of places.entries())
        if (at < 0) met = true;
        else changes.push({ at, remove: 1, from: fromTheirs + n, to: fromTheirs + n + 1 });
    } else if (places.some((place) => place < 0)) met = true;
    else {
      for (const at of places.slice(1)) changes.push({ at, remove: 1, from: 0, to: 0 });
      const at = places[0] ?? placeBefore(fromBase);
      changes.push({ at, remove: count > 0 ? 1 : 0, from: fromTheirs, to: toTheirs });
    }
  }
  // of one place, what is put in before an entry comes after what is done to the entry; and of several that are put in
  // there, as we removed what stood between them, the last first: each stands before those that were put in earlier
  return { changes: changes.toReversed().toSorted((a, b) => b.at - a.at || b.remove - a.remove), met };
}
