/** What this process has claimed and not yet written. */
export interface InHand {
  /** Posts of this host from their claim until their result is written. */
  readonly claimed: Set<string>;
  /** When the last posts were claimed that were late by then, by the monotonic clock; the oldest first. */
  readonly lateClaims: number[];
  /** Posts of which the network is being asked, until the answer is written. */
  readonly lookedUp: Set<string>;
  /** Sends and writes under way, until they end. */
  readonly work: Set<Promise<unknown>>;
  /** Aborted when this host goes away. */
  readonly leaving: AbortController;
  /** What others wait for as long as this host is busy with posts that are due; undefined when nobody waits. */
  calm: Promise<void> | undefined;
}

export const emptyHands = (): InHand => ({
  claimed: new Set(),
  lateClaims: [],
  lookedUp: new Set(),
  work: new Set(),
  leaving: new AbortController(),
  calm: undefined,
});

/** Notes work until it ends, so that a host that goes away waits for it. */
export function tracked<T>({ work }: InHand, started: Promise<T>): Promise<T> {
  const watched = started.finally(() => work.delete(watched));
  work.add(watched);
  return watched;
}
