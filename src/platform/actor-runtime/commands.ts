import { AppError, type Clock } from '../kernel/index.ts';

/** Errors that say: nothing ran. A repeat of such a command must be tried, not remembered. */
const NEVER_RAN = new Set<string>(['draining', 'busy', 'unavailable']);

interface Known {
  answer: Promise<unknown>;
  endedAt: number | undefined;
}

/**
 * Remembers the answers of recent commands, at most `max` of them and `ms` long: a command that the engine repeats runs
 * once.
 */
export function rememberCommands({ max, ms, clock }: { max: number; ms: number; clock: Clock }) {
  const known = new Map<string, Known>();

  /** Each new command looks at a few of the oldest, so that forgetting costs nothing noticeable. */
  function forgetOldest(): void {
    const now = clock.monotonic();
    let looks = 8;
    for (const [key, command] of known) {
      if (looks-- === 0) return;
      if (command.endedAt === undefined) {
        known.delete(key); // still running: to the end of the line
        known.set(key, command);
      } else if (known.size > max || now - command.endedAt > ms) known.delete(key);
      else return;
    }
  }

  return {
    /** The first answer, or that of `run`. `repeated` is called instead of `run`. */
    once(key: string, run: () => Promise<unknown>, repeated: () => void): Promise<unknown> {
      const found = known.get(key);
      if (found && (found.endedAt === undefined || clock.monotonic() - found.endedAt <= ms)) {
        repeated();
        return found.answer;
      }
      const command: Known = { answer: run(), endedAt: undefined };
      known.set(key, command);
      command.answer.then(
        () => (command.endedAt = clock.monotonic()),
        (error: unknown) => {
          command.endedAt = clock.monotonic();
          if (error instanceof AppError && NEVER_RAN.has(error.code)) known.delete(key);
        },
      );
      forgetOldest();
      return command.answer;
    },
  };
}
