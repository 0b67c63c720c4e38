import type { Database, Sql } from '../../platform/db/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Notices } from './notices.ts';
import { PROCESSOR, type Settle } from './settle.ts';
import { GRACE_DAYS, NOTICE_DAYS } from './subscription-rules.ts';
import * as store from './dunning-store.ts';
import { addTask } from '../processor/index.ts';

export interface PassingNeeds {
  sql: Database;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  pausePosts(sql: Sql, orgId: string, message: string): Promise<void>;
  notices: Notices;
  settle: Settle;
  /** Told after the commit that tasks may wait. */
  afterwards(orgId: string): void;
  log: Log;
}

/** What the passing of time does to an org: the notices of days 3 and 6 while it owes, then the end (S80, S220); a trial that should be over is asked after. */
export interface Passing {
  /** For the reminder of the Organization. A turn that was carried out before, or has lost its cause, does nothing. */
  turn(orgId: string): Promise<void>;
  nextTurn(orgId: string): Promise<Date | null>;
  /** Every org whose turn has come and that nobody reminded; answers how many of them had it. One that fails keeps no other from its turn. */
  sweep(limit: number): Promise<number>;
}

export function openPassing({ sql, lockOrg, pausePosts, notices, settle, afterwards, log }: PassingNeeds): Passing {
  async function turn(tx: Sql, orgId: string): Promise<void> {
    await lockOrg(tx, orgId);
    const trial = await store.overdueTrial(tx, orgId);
    if (trial !== undefined) await addTask(tx, orgId, { kind: 'sync', subscription: trial });
    const due = await store.dueGrace(tx, orgId);
    if (!due) return; // paid, or another process was faster
    if (due.over) {
      await store.lapse(tx, orgId);
      await pausePosts(tx, orgId, 'The subscription is not paid');
      await notices.lapsed(tx, orgId);
      await settle.note(tx, orgId, 'subscription_lapsed', PROCESSOR);
      return;
    }
    await notices.owing(tx, orgId, due.end);
    await store.noticeSent(tx, orgId, NOTICE_DAYS[due.notices + 1] ?? GRACE_DAYS, GRACE_DAYS);
  }
  const pass = (orgId: string) => sql.begin((tx) => turn(tx, orgId));
  return {
    async turn(orgId) {
      await pass(orgId);
      afterwards(orgId);
    },
    nextTurn: (orgId) => store.nextTurn(sql, orgId),
    async sweep(limit) {
      let passed = 0;
      for (const orgId of await store.orgsDue(sql, limit))
        try {
          await pass(orgId);
          passed += 1;
        } catch (error) {
          log.warn({ orgId, err: error }, 'the grace period or the trial of an organization is looked at again with the next sweep');
        }
      return passed;
    },
  };
}
