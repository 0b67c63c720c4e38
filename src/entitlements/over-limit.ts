/** A channel or a member that counts. */
export interface Counted {
  id: string;
  name: string;
  createdAt: Date;
  /** Never goes: an org without an owner could not be helped. */
  kept?: boolean;
}

/**
 * Answers what a lower limit leaves no room for: the newest first (S137), and of those made at one instant the greater
 * id.
 */
export function overLimitOf<T extends Counted>(counted: readonly T[], max: number): T[] {
  const newestFirst = (a: T, b: T) =>
    Number(a.kept ?? false) - Number(b.kept ?? false) ||
    b.createdAt.getTime() - a.createdAt.getTime() ||
    (a.id < b.id ? 1 : -1);
  const many = Math.max(0, counted.length - max);
  return counted
    .toSorted(newestFirst)
    .slice(0, many)
    .filter(({ kept }) => !kept);
}
