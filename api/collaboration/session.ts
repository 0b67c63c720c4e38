import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import type { OpenDocument } from './document.ts';

/** Milliseconds of silence after which a version is kept. */
const SESSION_MS = 60_000;

interface Options {
  clock: Clock;
  log: Log;
  document: Pick<OpenDocument, 'key' | 'keep'>;
}

/** Keeps a version of a document when nobody has typed for a minute. Typing costs a look at the clock. */
export function openSession({ clock, log, document }: Options) {
  let touchedAt = 0;
  let isChanged = false;
  let waiting: AbortController | undefined;

  async function waitForSilence(signal: AbortSignal): Promise<void> {
    for (let left = SESSION_MS, seen = -1; touchedAt !== seen; left = touchedAt + SESSION_MS - clock.monotonic()) {
      seen = touchedAt;
      await clock.sleep(left, signal);
    }
    waiting = undefined; // what is typed while it is kept begins the next session
    isChanged = false;
    await document.keep('session');
  }
  function stop(): void {
    waiting?.abort();
    waiting = undefined;
  }

  return {
    /** Somebody has typed. */
    touch(): void {
      touchedAt = clock.monotonic();
      isChanged = true;
      if (waiting) return; // it looks again
      const { signal } = (waiting = new AbortController());
      waitForSilence(signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn({ room: document.key.room, err: error }, 'a version could not be kept');
      });
    },
    /** Keeps a version of what was changed, without waiting for silence. */
    async end(): Promise<void> {
      stop();
      if (!isChanged) return;
      isChanged = false;
      await document.keep('session');
    },
    stop,
  };
}
