import type { Database, Sql } from '../../platform/db/index.ts';
import { bind, type Clock } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import { registerDevice, removeDevice } from './devices.ts';
import { type FcmAccount, openFcm } from './fcm.ts';
import { type PushEvents, startPushSender } from './sender.ts';
import * as store from './store.ts';

interface PushOptions {
  sql: Database;
  clock: Clock;
  outbound: Outbound;
  /** Undefined: nothing is pushed (NO30). */
  account: FcmAccount | undefined;
  log: { warn(detail: object, message: string): void; error(detail: object, message: string): void };
  events: PushEvents;
}

/** Devices of people, and the pushes that go to them. */
export const openPush = ({ sql, clock, outbound, account, log, events }: PushOptions) => ({
  ...bind({ sql }, { registerDevice, removeDevice }),
  /** Pushes leave at all; without, `queueAll` does nothing. */
  enabled: account !== undefined,
  /** Writes pushes to every device of their users into the caller's transaction, in one statement. */
  async queueAll(transaction: Sql, pushes: readonly store.NewPush[]): Promise<void> {
    if (account && pushes.length > 0) await store.insertPushes(transaction, pushes);
  },
  /** Gives up what waited for an hour, at most `limit`; answers how many. */
  dropOld: (limit: number): Promise<number> => store.dropOldPushes(sql, limit),
  /** Sends what is queued until it is disposed of; undefined without an account. */
  startSender: (options: { restMs?: number } = {}): AsyncDisposable | undefined =>
    account && startPushSender({ sql, clock, send: openFcm({ outbound, clock }, account), log, events, ...options }),
});
export type Push = ReturnType<typeof openPush>;
