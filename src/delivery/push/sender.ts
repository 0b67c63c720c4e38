import type { Database } from '../../platform/db/index.ts';
import { atMost, startWorker } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { PushOutcome, SendPush } from './answers.ts';
import * as store from './store.ts';

/** What becomes of a push after an attempt. */
type Conclusion =
  | { outcome: 'sent' | 'dropped' | 'unknown'; reason: string | null }
  | { outcome: 'retried'; reason: string; inMs: number };
export interface PushEvents {
  pushAttempted(of: { pushId: string; outcome: Conclusion['outcome']; reason: string | null }): void;
}
interface PushSenderOptions {
  sql: Database;
  clock: Clock;
  send: SendPush;
  log: { warn(detail: object, message: string): void; error(detail: object, message: string): void };
  events: PushEvents;
  restMs?: number;
}

const CONCURRENCY = 64;
/** So that no connection waits for a statement. For a second only: the session of a device may end meanwhile (S237). */
const AHEAD = { rows: 192, forMs: 1_000 };
const LEASE_SECONDS = 120; // longer than that wait and an attempt take
/** Outcomes that wait to be written; beyond them nothing is claimed. */
const MOST_UNWRITTEN = 2_000;
const WRITE_MS = 2_000; // at the end
const MINUTE = 60_000;
/** Waits after the first and the second attempt; after the third, or an hour, a push is worth nothing any more. */
const WAITS_MS = [MINUTE, 10 * MINUTE];
const LONGEST_WAIT_MS = 50 * MINUTE;

const ENDED = { outcome: 'dropped', reason: 'The session that registered the device has ended' } as const;
function conclusionOf(done: PushOutcome, attempts: number): Conclusion {
  if (done.outcome === 'sent') return { outcome: 'sent', reason: null };
  const { reason } = done;
  if (done.outcome === 'unknown') return { outcome: 'unknown', reason };
  const waitMs = WAITS_MS[attempts - 1];
  const inMs = done.outcome === 'retry' && waitMs !== undefined ? Math.max(waitMs, done.afterMs) : Infinity;
  return inMs > LONGEST_WAIT_MS ? { outcome: 'dropped', reason } : { outcome: 'retried', reason, inMs };
}
function write(sql: Database, push: store.DuePush, end: Conclusion): Promise<void> {
  const { id, attempts } = push;
  if (end.outcome === 'retried') return store.retryPush(sql, { id, attempts, inMs: end.inMs });
  return end.outcome === 'unknown' ? store.disableDevice(sql, push) : store.deletePush(sql, id);
}

/** Sends what is due, at least once: after a crash under way it is sent again, and its category collapses it. */
export function startPushSender({ sql, clock, send, log, events, restMs = 1_000 }: PushSenderOptions): AsyncDisposable {
  const writing = new Set<Promise<void>>();

  /** The place of the push is free meanwhile: what ends within a moment is written together. */
  function conclude(push: store.DuePush, end: Conclusion): void {
    const { id: pushId } = push;
    const written = write(sql, push, end)
      .then(() => events.pushAttempted({ pushId, outcome: end.outcome, reason: end.reason }))
      .catch((error: unknown) =>
        log.warn({ pushId, err: error }, 'recording the outcome of a push failed, sent again when its lease ends'),
      )
      .finally(() => writing.delete(written));
    writing.add(written);
  }

  let after = store.NO_OWNER;
  async function claim(limit: number): Promise<readonly store.DuePush[]> {
    if (writing.size >= MOST_UNWRITTEN) return [];
    const pushes = await store.claimDuePushes(sql, { limit, leaseSeconds: LEASE_SECONDS, after });
    after = pushes[0]?.last ?? after;
    return pushes;
  }

  const worker = startWorker({
    clock,
    concurrency: CONCURRENCY,
    restMs,
    claim,
    ahead: {
      ...AHEAD,
      release: async (pushes) => {
        await store
          .releasePushes(sql, pushes)
          .catch((error: unknown) => log.warn({ err: error }, 'pushes that were not sent wait until their lease ends'));
      },
    },
    work: async (push) => conclude(push, push.isHeld ? conclusionOf(await send(push), push.attempts) : ENDED),
    onWorkError: (error, { id }) =>
      log.warn({ pushId: id, err: error }, 'sending a push failed, sent again when its lease ends'),
    onClaimError: (error) => log.error({ err: error }, 'claiming due pushes failed, repeated'),
  });
  return {
    async [Symbol.asyncDispose]() {
      await worker[Symbol.asyncDispose]();
      await atMost(clock, WRITE_MS, () => Promise.all(writing));
    },
  };
}
