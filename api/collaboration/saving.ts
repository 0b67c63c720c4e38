import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import type { OpenDocument } from './document.ts';

/** Milliseconds between two writes of a document, of silence before its post is saved, and from the first change to that. */
const WRITE_MS = 2_000;
const QUIET_MS = 2_000;
const LONGEST_MS = 10_000;
/** Until what failed is tried again. */
const RETRY_MS = 2_000;

interface Options {
  clock: Clock;
  log: Log;
  document: Pick<OpenDocument, 'key' | 'isWritten' | 'write' | 'agree'>;
}

/** Writes a document while it changes, and saves its post when nobody types, until both are done. */
export function openSaving({ clock, log, document }: Options) {
  let changedAt = 0;
  let firstAt: number | undefined;
  let wroteAt = -Infinity;
  let isHurrying = false;
  let resting = new AbortController();
  let running: Promise<void> | undefined;
  const stopping = new AbortController();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted && (firstAt !== undefined || !document.isWritten)) {
      const now = clock.monotonic();
      const saveAt = firstAt === undefined ? Infinity : Math.min(changedAt + QUIET_MS, firstAt + LONGEST_MS);
      const next = Math.min(saveAt, document.isWritten ? Infinity : wroteAt + WRITE_MS);
      if (!isHurrying && next > now) {
        resting = new AbortController();
        await clock.sleep(next - now, resting.signal).catch(() => undefined);
        continue;
      }
      const first = firstAt;
      try {
        if (isHurrying || saveAt <= now) {
          firstAt = undefined; // what is typed from now on is for the next save
          await document.agree();
        } else await document.write();
        wroteAt = clock.monotonic();
      } catch (error) {
        firstAt ??= first;
        const { orgId, room } = document.key;
        log.warn({ orgId, room, err: error }, 'a document could not be saved and is tried again');
        await clock.sleep(RETRY_MS, stopping.signal).catch(() => undefined);
      }
    }
    running = undefined;
  }

  return {
    /** The document has changed. */
    touch(): void {
      changedAt = clock.monotonic();
      firstAt ??= changedAt;
      running ??= run();
    },
    /** Saves what is unsaved without waiting for silence; ends when everything is, however long that takes. */
    async flush(): Promise<void> {
      isHurrying = true;
      resting.abort();
      await running;
      isHurrying = false;
    },
    /** Gives up what cannot be saved. */
    stop(): void {
      stopping.abort();
      resting.abort();
    },
  };
}
