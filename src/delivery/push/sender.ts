import type { Database } from '../../platform/db/index.ts';
import { startWorker } from '../../platform/flow/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { SendPush } from './answers.ts';
import * as store from './store.ts';

export interface PushEvents {
  pushAttempted(of: {
    pushId: string;
    outcome: 'sent' | 'retried' | 'dropped' | 'unknown';
    reason: string | null;
  }): void;
}
interface PushSenderOptions {
  sql: Database;
  clock: Clock;
  send: SendPush;
  log: { warn(detail: object, message: string): void; error(detail: object, message: string): void };
  events: PushEvents;
  restMs?: number;
}

const CONCURRENCY = 64; // a claim, and a commit of what ended, are shared by those that meet
const LEASE_SECONDS = 120; // longer than an attempt takes
const MINUTE = 60_000;
/** Waits after the first and the second attempt; after the third, or an hour, a push is worth nothing any more. */
const WAITS_MS = [MINUTE, 10 * MINUTE];
const LONGEST_WAIT_MS = 50 * MINUTE;

/** Sends what is due, at least once: after a crash under way it is sent again, and its category collapses it. */
export function startPushSender({ sql, clock, send, log, events, restMs = 1_000 }: PushSenderOptions): AsyncDisposable {
  async function attempt(push: store.DuePush): Promise<void> {
    const { id: pushId, attempts } = push;
    const tell = (outcome: 'sent' | 'retried' | 'dropped' | 'unknown', reason: string | null) =>
      events.pushAttempted({ pushId, outcome, reason });
    if (!push.isHeld) {
      await store.deletePush(sql, pushId);
      return tell('dropped', 'The session that registered the device has ended');
    }
    const done = await send(push);
    if (done.outcome === 'sent') {
      await store.deletePush(sql, pushId);
      return tell('sent', null);
    }
    const { reason } = done;
    if (done.outcome === 'unknown') {
      await store.disableDevice(sql, push);
      return tell('unknown', reason);
    }
    const waitMs = WAITS_MS[attempts - 1];
    const inMs = done.outcome === 'retry' && waitMs !== undefined ? Math.max(waitMs, done.afterMs) : Infinity;
    if (inMs > LONGEST_WAIT_MS) {
      await store.deletePush(sql, pushId);
      return tell('dropped', reason);
    }
    await store.retryPush(sql, push, inMs);
    tell('retried', reason);
  }

  return startWorker({
    clock,
    concurrency: CONCURRENCY,
    restMs,
    claim: (limit) => store.claimDuePushes(sql, { limit, leaseSeconds: LEASE_SECONDS }),
    work: attempt,
    onWorkError: (error, { id }) =>
      log.warn({ pushId: id, err: error }, 'recording the outcome of a push failed, sent again when its lease ends'),
    onClaimError: (error) => log.error({ err: error }, 'claiming due pushes failed, repeated'),
  });
}
