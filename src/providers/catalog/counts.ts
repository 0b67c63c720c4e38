import type { Clock } from '../../platform/kernel/index.ts';
import type { Outcome } from '../registry/index.ts';
import type { Tally } from './health-store.ts';

const GATHER_MS = 3_000;

/** Outcomes of this process, written together: one statement in three seconds, however many calls there were. */
export interface Counts extends AsyncDisposable {
  note(outcome: Outcome): void;
  /** Writes what is waiting. */
  flush(): Promise<void>;
}

interface Options {
  clock: Clock;
  write: (tallies: readonly Tally[]) => Promise<void>;
  /** Told when they could not be written; they wait for the next time. */
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

/** What came before, followed by what came after. */
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
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const add = (key: string, tally: Tally) => {
    const before = waiting.get(key);
    waiting.set(key, before ? follow(before, tally) : tally);
  };
  const soon = () => void (timer ??= setTimeout(() => void flush().catch(failed), GATHER_MS).unref());

  async function writeOut(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const taken = waiting;
    waiting = new Map();
    if (taken.size === 0) return;
    try {
      await write([...taken.values()]);
    } catch (error) {
      const since = waiting;
      waiting = taken;
      for (const [key, tally] of since) add(key, tally);
      soon();
      throw error;
    }
  }
  /** One after another, so that whoever waits finds what was noted before. */
  function flush(): Promise<void> {
    const mine = writing.then(writeOut);
    writing = mine.catch(() => undefined);
    return mine;
  }

  return {
    note(outcome) {
      const now = clock.now();
      const one = nothing(outcome);
      add(
        `${outcome.domain}/${outcome.id}@${outcome.version}`,
        outcome.ok ? { ...one, successCount: 1, lastSuccessAt: now } : { ...one, errorCount: 1, consecutiveErrors: 1, lastErrorAt: now },
      );
      soon();
    },
    flush,
    async [Symbol.asyncDispose]() {
      await flush().catch(failed);
      clearTimeout(timer);
    },
  };
}
