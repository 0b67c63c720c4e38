import { type Database, openLease } from '../../db/index.ts';
import { startLoop } from '../../flow/index.ts';
import type { Clock } from '../../kernel/index.ts';
import type { RuntimeLog } from '../host.ts';
import type { SchedulerReminders } from './reminders.ts';

const EVERY_MS = 10_000;
/**
 * A reminder that waits longer than this after its time is taken for forgotten: one that fails comes every few seconds.
 */
const OVERDUE_MS = 15_000;
const LEASE_SECONDS = 25;
const AT_MOST = 500;

export interface RearmOptions {
  reminders: SchedulerReminders;
  types: readonly string[];
  sql: Database;
  holder: string;
  clock: Clock;
  log: RuntimeLog;
}

/**
 * A reminder may get stuck in daprd 1.18.3: a sidecar that does not host its actor hands it on without a deadline, and
 * one whose app has just died takes it in and waits until that app is back (`WaitForRegisteredHosts`). Another host
 * that joins is no help. So one host looks for what is long overdue and sets it again: that is a new job, which goes
 * where the actor is now. The old one may still come later; a handler that comes twice is nothing new.
 *
 * What daprd acknowledged although its app was dead is gone from the scheduler and not found here. Disposing ends it.
 */
export function startRearming({ reminders, types, sql, holder, clock, log }: RearmOptions): AsyncDisposable {
  const lease = openLease({ sql, name: 'dapr-reminders', holder, seconds: LEASE_SECONDS });
  return startLoop({
    clock,
    lease,
    firstRestMs: EVERY_MS,
    restMs: EVERY_MS,
    async round() {
      if (!(await lease.held())) return;
      const rearmed = await reminders.rearm(types, OVERDUE_MS, AT_MOST).catch(async (error: unknown) => {
        // this sidecar may be gone, or hold its host for dead: another host may ask its own
        await lease.release().catch(() => undefined);
        throw error;
      });
      if (rearmed > 0) log.warn({ rearmed }, 'reminders that the scheduler had not fired were set again');
    },
    onError: (error) => log.warn({ err: error }, 'scan for overdue reminders failed, repeated shortly'),
  });
}
