import type { Clock } from '../../src/platform/kernel/index.ts';
import type { Log } from '../../src/platform/telemetry/index.ts';
import type { OpenDocument } from './document.ts';

/** Milliseconds between two writes of a document, of silence before its post is saved, and from the first change to that. */
const WRITE_MS = 2_000;
const QUIET_MS = 2_000;
const LONGEST_MS = 10_000;
/** How much longer what was typed at other processes waits: they write it, and this one where none of them has. */
const FOLLOW_MS = 5_000;
/** Until what failed is tried again. */
const RETRY_MS = 2_000;

interface Options {
  clock: Clock;
  log: Log;
  document: Pick<OpenDocument, 'key' | 'isWritten' | 'write' | 'agree'>;
  /** Told after each write, and each time that the post is saved. */
  onSaved(): void;
}

/**
 * Writes a document while it changes, and saves its post when nobody types, until both are done. A process whose own
 * clients have not typed leaves that to those whose clients have, as long as it hears that they do it.
 */
export function openSaving({ clock, log, document, onSaved }: Options) {
  let changedAt = 0;
  let firstAt: number | undefined;
  let wroteAt = -Infinity;
  /** A client of this process has typed what is not saved. */
  let isOwn = false;
  /** Since when others have not written what they typed. */
  let othersAt = 0;
  let isHurrying = false;
  let resting = new AbortController();
  let running: Promise<void> | undefined;
  const stopping = new AbortController();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted && (firstAt !== undefined || !document.isWritten)) {
      const now = clock.monotonic();
      const lag = isOwn ? 0 : FOLLOW_MS;
      const saveAt = firstAt === undefined ? Infinity : Math.min(changedAt + QUIET_MS, firstAt + LONGEST_MS) + lag;
      const writeAt = (isOwn ? wroteAt : Math.max(wroteAt, othersAt)) + WRITE_MS + lag;
      const next = Math.min(saveAt, document.isWritten ? Infinity : writeAt);
      if (!isHurrying && next > now) {
        resting = new AbortController();
        await clock.sleep(next - now, resting.signal).catch(() => undefined);
        continue;
      }
      const [first, wasOwn] = [firstAt, isOwn];
      try {
        if (isHurrying || saveAt <= now) {
          firstAt = undefined; // what is typed from now on is for the next save
          isOwn = false;
          await document.agree();
        } else await document.write();
        wroteAt = clock.monotonic();
        onSaved();
      } catch (error) {
        firstAt ??= first;
        isOwn ||= wasOwn;
        const { orgId, room } = document.key;
        log.warn({ orgId, room, err: error }, 'a document could not be saved and is tried again');
        await clock.sleep(RETRY_MS, stopping.signal).catch(() => undefined);
      }
    }
    running = undefined;
  }

  return {
    /** The document was changed: by a client of this process, or at another one. */
    touch(by: 'own' | 'others'): void {
      changedAt = clock.monotonic();
      if (firstAt === undefined) firstAt = othersAt = changedAt;
      if (by === 'own' && !isOwn) {
        isOwn = true;
        resting.abort(); // it rests longer for what others have typed
      }
      running ??= run();
    },
    /** Another process has written the document, and saves the post when nobody types there. */
    follow(): void {
      othersAt = clock.monotonic();
      if (firstAt !== undefined && !isOwn) [changedAt, firstAt] = [othersAt, othersAt];
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
