import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Billing, Tier } from '../../entitlements/index.ts';
import type { Payments } from '../../billing/payments/index.ts';
import { type Database, runEach, type Sql } from '../../platform/db/index.ts';
import { notFound, type RowPage, pageOf } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import * as store from './org-store.ts';

/** Pauses and resumes the queue of an org. */
export interface Queues {
  pause(sql: Sql, orgId: string, message: string): Promise<void>;
  resume(sql: Sql, orgId: string): Promise<void>;
  /** Sets the reminders of channels that have started, after the commit: the reconciler would do so within seconds. */
  remind(): Promise<unknown>;
}
export interface AskedOrgs {
  search?: string | undefined;
  cursor?: string | undefined;
  limit: number;
}

export interface AdminOrgs {
  list(asked: AskedOrgs): Promise<RowPage<store.OrgRow>>;
  get(orgId: string): Promise<store.OrgRow>;
  /**
   * All of it or none. A disabled org: its members, keys and tokens are refused within a second, and its queued posts
   * wait, paused. `tier` gives it a plan by hand; 409 where it pays for one.
   */
  change(
    by: AuditActor,
    orgId: string,
    change: { disabled?: boolean | undefined; tier?: Tier | undefined },
  ): Promise<void>;
  /**
   * Stops again what came back to the queue of disabled orgs from attempts that were under way. One that fails holds up
   * no other.
   */
  keepStill(limit: number): Promise<number>;
}

const REASON = 'The organization was disabled';

export interface AdminOrgsNeeds {
  sql: Database;
  billing: Pick<Billing, 'lockOrg'>;
  plans: Pick<Payments, 'grant'>;
  queues: Queues;
  log: Pick<Log, 'warn'>;
}
export function openAdminOrgs({ sql, billing, plans, queues, log }: AdminOrgsNeeds): AdminOrgs {
  async function find(orgId: string): Promise<store.OrgRow> {
    const row = await store.findOrg(sql, orgId);
    if (!row) throw notFound();
    return row;
  }
  async function setDisabled(
    tx: Sql,
    by: AuditActor,
    orgId: string,
    disabled: boolean,
    act: () => Promise<void>,
  ): Promise<boolean> {
    if (!(await store.setDisabled(tx, orgId, disabled))) return false; // it is so already
    await act();
    await writeAudit(tx, by, {
      orgId,
      action: disabled ? 'organization.disabled' : 'organization.enabled',
      resource: 'instance',
      resourceId: orgId,
    });
    return true;
  }

  return {
    list: async ({ search, cursor, limit }) =>
      pageOf(await store.listOrgs(sql, { search, before: cursor, limit: limit + 1 }), limit),

    get: find,

    async change(by, orgId, { tier, disabled }) {
      await find(orgId);
      let isResumed = false;
      await sql.begin(async (tx) => {
        await billing.lockOrg(tx, orgId); // what counts is locked before channels are
        if (disabled === false) isResumed = await setDisabled(tx, by, orgId, false, () => queues.resume(tx, orgId)); // what it owes for stays
        if (tier !== undefined) await plans.grant(tx, orgId, by, tier);
        if (disabled === true) await setDisabled(tx, by, orgId, true, () => queues.pause(tx, orgId, REASON));
      });
      if (isResumed)
        await queues
          .remind()
          .catch((err: unknown) => log.warn({ err, orgId }, 'reminders could not be set, left to the reconciler'));
    },

    async keepStill(limit) {
      return runEach<string>(limit, {
        find: (most, tried) => store.restlessOrgs(sql, most, tried),
        work: (orgId) =>
          sql.begin(async (tx) => {
            await billing.lockOrg(tx, orgId); // as enabling does, which may have come first
            if (await store.isDisabled(tx, orgId)) await queues.pause(tx, orgId, REASON);
          }),
        failed: (err, orgId) =>
          log.warn({ err, orgId }, 'a disabled organization could not be paused again, tried again'),
      });
    },
  };
}
