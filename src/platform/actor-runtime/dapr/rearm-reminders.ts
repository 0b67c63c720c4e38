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
 * The scheduler parks a reminder that met a sidecar whose app had just died, and lets it lie until another host joins
 * (seen with 1.18.3: one of 200). So one host looks for what is long overdue and sets it again; a handler that comes
 * twice is nothing new. Disposing ends it.
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
      const rearmed = await reminders.rearm(types, OVERDUE_MS, AT_MOST);
      if (rearmed > 0) log.warn({ rearmed }, 'reminders that the scheduler had not fired were set again');
    },
    onError: (error) => log.warn({ err: error }, 'scan for overdue reminders failed, repeated shortly'),
  });
}
