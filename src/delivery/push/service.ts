import type { Database, Sql } from '../../platform/db/index.ts';
import { bind, type Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { SendPush } from './answers.ts';
import { registerDevice, removeDevice } from './devices.ts';
import { type FcmAccount, openFcm } from './fcm.ts';
import { type PushEvents, startPushSender } from './sender.ts';
import * as store from './store.ts';
import { openWebPush, type Vapid } from './web-push.ts';

interface PushOptions {
  sql: Database;
  clock: Clock;
  outbound: Outbound;
  /** Undefined: nothing is pushed to Firebase (NO30). */
  fcm: FcmAccount | undefined;
  /** Undefined: nothing is pushed to browsers. */
  vapid: Vapid | undefined;
  log: { warn(detail: object, message: string): void; error(detail: object, message: string): void };
  events: PushEvents;
}

/** Devices of people, and the pushes that go to them. */
export function openPush({ sql, clock, outbound, fcm, vapid, log, events }: PushOptions) {
  const ways: store.PushWay[] = [...(fcm ? ['fcm' as const] : []), ...(vapid ? ['web-push' as const] : [])];
  const senders = (): Partial<Record<store.PushWay, SendPush>> => ({
    ...(fcm && { fcm: openFcm({ outbound, clock }, fcm) }),
    ...(vapid && { 'web-push': openWebPush({ outbound, clock }, vapid) }),
  });
  return {
    ...bind({ sql, outbound, ways }, { registerDevice, removeDevice }),
    /** Pushes leave at all; without, `queueAll` does nothing. */
    enabled: ways.length > 0,
    /** What browsers subscribe with; undefined: nothing is pushed to them. */
    publicKey: vapid?.publicKey,
    /** Writes pushes to every device of their users into the caller's transaction, in one statement. */
    async queueAll(transaction: Sql, pushes: readonly store.NewPush[]): Promise<void> {
      if (ways.length > 0 && pushes.length > 0) await store.insertPushes(transaction, pushes, ways);
    },
    /** Gives up what waited for an hour, at most `limit`; answers how many. */
    async dropOld(limit: number): Promise<number> {
      const dropped = await store.dropOldPushes(sql, limit);
      const reason = 'It waited for an hour';
      for (const { id } of dropped) events.pushAttempted({ pushId: id, outcome: 'dropped', reason });
      return dropped.length;
    },
    /** Sends what is queued until it is disposed of; undefined where nothing is pushed. */
    startSender(options: { restMs?: number } = {}): AsyncDisposable | undefined {
      if (ways.length === 0) return undefined;
      const byWay = senders();
      const send: SendPush = async (push) =>
        byWay[push.via]?.(push) ?? { outcome: 'refused', reason: `nothing is pushed by ${push.via} any more` };
      return startPushSender({ sql, clock, send, log, events, ...options });
    },
  };
}
export type Push = ReturnType<typeof openPush>;
