import { atMost } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';

const DEADLINE_MS = 9_500; // within the ten seconds that a person or an orchestrator waits

interface Options {
  clock: Clock;
  say: (line: string) => void;
  exit?: (code: number) => void;
  deadlineMs?: number;
  /** Beyond the deadline: for a service that goes on for a while before it ends. */
  extraMs?: number;
}

/**
 * Ends the process once, on the first SIGTERM, SIGINT or SIGHUP: stops what runs, then exits with 0; with 1 when
 * stopping failed or took too long. Later signals change nothing (BO5, BO6). Answers a function that does the same
 * without a signal, for example after a fatal error.
 */
export function endOnSignal(
  stop: () => Promise<void>,
  { clock, say, exit = process.exit, deadlineMs = DEADLINE_MS, extraMs = 0 }: Options,
): (why: string, code?: number) => Promise<void> {
  let ending: Promise<void> | undefined;

  async function end(why: string, code: number): Promise<void> {
    say(`${why}: ending …`);
    try {
      const inTime = await atMost(clock, deadlineMs + extraMs, stop);
      if (!inTime)
        say(
          `Not everything ended within ${(deadlineMs + extraMs) / 1000} s; what is left is found again at the next start.`,
        );
      exit(inTime ? code : 1);
    } catch (error) {
      say(`Ending failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      exit(1);
    }
  }

  const once = (why: string, code = 0) => (ending ??= end(why, code));
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (ending) say(`${signal} again: already ending.`);
      else void once(signal);
    });
  return once;
}
