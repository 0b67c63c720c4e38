import { openWriteBehind } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';

const EACH_MS = 30_000;
const GATHER_MS = 1_000;
const REMEMBERED = 100_000;

/**
 * Notes of use that are written together: at most one write for each key in 30 seconds, so what is stored is never a
 * minute old.
 */
export interface LastUsed<Note> extends AsyncDisposable {
  note(key: string, note: Note): void;
  /** Ends when what was noted before is written. */
  flush(): Promise<void>;
}

export function lastUsed<Note>({
  clock,
  write,
  failed,
}: {
  clock: Clock;
  write: (notes: readonly Note[]) => Promise<unknown>;
  failed: (error: unknown) => void;
}): LastUsed<Note> {
  const noted = new Map<string, number>();
  let waiting = new Map<string, Note>();
  const behind = openWriteBehind({
    afterMs: GATHER_MS,
    async write() {
      const notes = [...waiting.values()];
      waiting = new Map();
      if (notes.length > 0) await write(notes);
    },
    onError: failed,
  });

  return {
    note(key, note) {
      const now = clock.monotonic();
      const before = noted.get(key);
      if (before !== undefined && now - before < EACH_MS) return;
      noted.delete(key);
      noted.set(key, now);
      if (noted.size > REMEMBERED) noted.delete(noted.keys().next().value!);
      waiting.set(key, note);
      behind.soon();
    },
    flush: behind.flush,
    [Symbol.asyncDispose]: () => behind[Symbol.asyncDispose](),
  };
}
