import type { Clock } from '../kernel/index.ts';

export interface LoopOptions {
  clock: Clock;
  /** One round of work; answers the milliseconds until the next one, where they are not `restMs`. */
  round(): Promise<number | void>;
  restMs: number;
  /** Before the first round; none by default. */
  firstRestMs?: number;
  /** Told of a round that threw; answers the milliseconds until the next one, where they are not `restMs`. */
  onError(error: unknown): number | void;
  /** Given up at the end. The round itself asks whether it is held. */
  lease?: { release(): Promise<unknown> };
}
export interface Loop extends AsyncDisposable {
  /** Aborted when the loop is to end: a long round looks at it. */
  readonly signal: AbortSignal;
  /** Ends the rest; called during a round that succeeds, the next one follows at once. */
  wake(): void;
}

/** Why a rest ends. Made once: the platform's own reason is an error with a stack for each. */
const WOKEN = new Error('Woken');

/** Makes one round after another until it is disposed of, which waits for the round that runs. */
export function startLoop({ clock, round, restMs, firstRestMs = 0, onError, lease }: LoopOptions): Loop {
  const ending = new AbortController();
  let resting = new AbortController();

  async function run(): Promise<void> {
    for (let ms = firstRestMs; ;) {
      if (ms > 0) await clock.sleep(ms, resting.signal).catch(() => undefined);
      if (ending.signal.aborted) return;
      resting = new AbortController();
      try {
        ms = (await round()) ?? restMs;
      } catch (error) {
        if (ending.signal.aborted) return;
        ms = onError(error) ?? restMs;
        resting = new AbortController(); // what fails is not tried again before its rest has begun
      }
    }
  }
  const running = run();

  return {
    signal: ending.signal,
    wake: () => resting.abort(WOKEN),
    async [Symbol.asyncDispose]() {
      ending.abort();
      resting.abort();
      await running;
      await lease?.release().catch(() => undefined); // it expires anyway
    },
  };
}
