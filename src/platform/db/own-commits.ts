// Where one process alone writes to a database it knows of each commit, and need not ask every moment whether there was
// one. A client looks at the texts of its statements for that, while somebody waits to be told only.

/** A wait for the next commit that may have written to a table. */
interface Waiting {
  /** What a statement that writes to the table has in its text. */
  text: string;
  told(): void;
}

/** The commits of one client. */
export interface OwnCommits {
  /** A statement outside transactions ended, well or not: where its answer was lost nobody knows. */
  ended(text: string | undefined): void;
  transactionEnded(): void;
  /** Calls back once. */
  next(waiting: Waiting): Disposable;
}

export function openOwnCommits(): OwnCommits {
  const all = new Set<Waiting>();
  function tell(isMeant: (one: Waiting) => boolean): void {
    for (const one of all)
      if (isMeant(one)) {
        all.delete(one);
        one.told();
      }
  }
  return {
    ended: (text) => void (all.size > 0 && tell((one) => text?.includes(one.text) ?? false)),
    transactionEnded: () => tell(() => true), // its statements are the driver's own
    next(waiting) {
      all.add(waiting);
      return { [Symbol.dispose]: () => void all.delete(waiting) };
    },
  };
}
