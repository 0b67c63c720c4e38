import { openWriteBehind } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Outcome } from '../registry/index.ts';
import type { Tally } from './health-store.ts';

const GATHER_MS = 3_000;

/** Outcomes of this process, written together in one statement every three seconds. */
export interface Counts extends AsyncDisposable {
  note(outcome: Outcome): void;
  /** Writes the outcomes that are waiting. */
  flush(): Promise<void>;
}

interface Options {
  clock: Clock;
  write: (tallies: readonly Tally[]) => Promise<void>;
  /** Called when they could not be written; they are kept for the next time. */
  failed: (error: unknown) => void;
}

const nothing = ({ domain, id, version }: Outcome): Tally => ({
  domain,
  providerId: id,
  version,
  successCount: 0,
  errorCount: 0,
  consecutiveErrors: 0,
  lastSuccessAt: null,
  lastErrorAt: null,
});

/** Adds a later tally to an earlier one. */
export const follow = (before: Tally, after: Tally): Tally => ({
  ...before,
  successCount: before.successCount + after.successCount,
  errorCount: before.errorCount + after.errorCount,
  consecutiveErrors: after.consecutiveErrors + (after.successCount === 0 ? before.consecutiveErrors : 0),
  lastSuccessAt: after.lastSuccessAt ?? before.lastSuccessAt,
  lastErrorAt: after.lastErrorAt ?? before.lastErrorAt,
});

export function openCounts({ clock, write, failed }: Options): Counts {
  let waiting = new Map<string, Tally>();
  const add = (key: string, tally: Tally) => {
    const before = waiting.get(key);
    waiting.set(key, before ? follow(before, tally) : tally);
  };
  async function writeOut(): Promise<void> {
    const taken = waiting;
    waiting = new Map();
    if (taken.size === 0) return;
    try {
      await write([...taken.values()]);
    } catch (error) {
      const since = waiting;
      waiting = taken;
      for (const [key, tally] of since) add(key, tally);
      behind.soon();
      throw error;
    }
  }
  const behind = openWriteBehind({ afterMs: GATHER_MS, write: writeOut, onError: failed });

  return {
    note(outcome) {
      const now = clock.now();
      const one = nothing(outcome);
      add(
        `${outcome.domain}/${outcome.id}@${outcome.version}`,
        outcome.ok
          ? { ...one, successCount: 1, lastSuccessAt: now }
          : { ...one, errorCount: 1, consecutiveErrors: 1, lastErrorAt: now },
      );
      behind.soon();
    },
    flush: behind.flush,
    [Symbol.asyncDispose]: () => behind[Symbol.asyncDispose](),
  };
}
