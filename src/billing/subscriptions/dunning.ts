import { type Database, runEach, type Sql } from '../../platform/db/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Notices } from './notices.ts';
import type { Apply } from './apply.ts';
import { GRACE_DAYS, NOTICE_DAYS } from './subscription-rules.ts';
import * as store from './dunning-store.ts';
import { addTask } from '../processor/index.ts';

export interface DunningNeeds {
  sql: Database;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  notices: Notices;
  apply: Apply;
  /** Told after the commit that tasks may wait. */
  afterwards(orgId: string): void;
  log: Log;
}

/**
 * Dunning: the notices of days 3 and 6 of the grace period, then its end (S80, S220); a trial that should be over is
 * synchronized with the processor.
 */
export interface Dunning {
  /**
   * Runs what is due for an org; called by the reminder of the Organization. A transition that ran before, or has lost
   * its cause, does nothing.
   */
  runTransitions(orgId: string): Promise<void>;
  nextTransition(orgId: string): Promise<Date | null>;
  /** Runs transitions of orgs that no reminder has run; answers how many. One that fails holds up no other. */
  sweep(limit: number): Promise<number>;
}

export function openDunning({ sql, lockOrg, notices, apply, afterwards, log }: DunningNeeds): Dunning {
  async function transition(tx: Sql, orgId: string): Promise<void> {
    await lockOrg(tx, orgId);
    const trial = await store.overdueTrial(tx, orgId);
    if (trial !== undefined) await addTask(tx, orgId, { kind: 'sync', subscription: trial });
    if (await apply.lapse(tx, orgId)) return;
    const due = await store.dueNotice(tx, orgId);
    if (!due) return; // paid, or another process was faster
    await notices.owing(tx, orgId, due.end);
    await store.noticeSent(tx, orgId, NOTICE_DAYS[due.notices + 1] ?? GRACE_DAYS, GRACE_DAYS);
  }
  const run = (orgId: string) => sql.begin((tx) => transition(tx, orgId));
  return {
    async runTransitions(orgId) {
      await run(orgId);
      afterwards(orgId);
    },
    nextTransition: (orgId) => store.nextTransition(sql, orgId),
    sweep: (limit) =>
      runEach<string>(limit, {
        find: (most, tried) => store.orgsDue(sql, most, tried),
        work: run,
        failed: (err, orgId) =>
          log.warn({ orgId, err }, 'dunning of an organization failed, repeated by the next sweep'),
      }),
  };
}
