import { type Database, onNextCommit } from '../db/index.ts';
import type { Clock } from '../kernel/index.ts';

/** A listener that has heard something, or was woken, looks as often as ever for so long. */
const ACTIVE_MS = 5_000;

/** How long a listener rests between two looks that find nothing. */
export interface Rest {
  /** A look begins. */
  begin(): void;
  /** It found nothing. `isBehind`: there are facts that it may not see before another transaction has ended. */
  after(isBehind: boolean): number;
  /** It found something. */
  heard(): void;
}

/** Of a listener that other processes write facts for. */
export const steadyRest = (lookMs: number): Rest => ({ begin() {}, after: () => lookMs, heard() {} });

/**
 * Of a listener for which this process alone writes: while that writes nothing there is nothing to find, and the first
 * fact wakes it. The looks between are for what a person or a command wrote beside it.
 */
export function openRest({
  sql,
  clock,
  lookMs,
  quietMs,
  wake,
}: {
  sql: Database;
  clock: Pick<Clock, 'monotonic'>;
  lookMs: number;
  quietMs: number;
  wake(): void;
}): Rest {
  let activeUntil = clock.monotonic() + ACTIVE_MS;
  let isQuiet = false;
  let isTold = true; // nobody waits for a commit
  const stayActive = () => (activeUntil = clock.monotonic() + ACTIVE_MS);

  return {
    begin() {
      isQuiet = false;
      if (!isTold) return;
      isTold = false;
      onNextCommit(sql, 'insert into outbox', told); // before the look, which may not show it
    },
    after(isBehind) {
      isQuiet = !isBehind && !isTold && clock.monotonic() >= activeUntil;
      return isQuiet ? quietMs : lookMs;
    },
    heard: stayActive,
  };

  function told(): void {
    isTold = true;
    stayActive();
    if (isQuiet) wake();
  }
}
