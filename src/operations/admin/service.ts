import type { AuthTokens } from '../../people/auth/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Payments } from '../../billing/payments/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { notFound } from '../../platform/kernel/index.ts';
import type { Retried } from '../../platform/outbox/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { dropOld } from './impersonation-store.ts';
import { type Impersonations, openImpersonations } from './impersonation.ts';
import { type AdminOrgs, openAdminOrgs, type Queues } from './orgs.ts';
import { countQueue, type QueueCounts } from './queue.ts';
import { type AdminUsers, openAdminUsers } from './users.ts';

/** Operations of super-admins, over all orgs. */
export interface Admin {
  readonly orgs: AdminOrgs;
  readonly users: AdminUsers;
  readonly impersonations: Impersonations;
  queue(): Promise<QueueCounts>;
  /** Has a fact that was set aside heard again. Throws `not_found`. */
  retryRefused(id: string): Promise<Retried>;
  /** Forgets what is over, at most `limit`; answers how many. */
  dropOldImpersonations(limit: number): Promise<number>;
}

export interface AdminOptions {
  sql: Database;
  billing: Pick<Billing, 'lockOrg'>;
  plans: Pick<Payments, 'grant'>;
  tokens: Pick<AuthTokens, 'signImpersonation' | 'verifyImpersonation'>;
  queues: Queues;
  lateSeconds: number;
  log: Pick<Log, 'warn'>;
  /** Has a fact that was set aside heard again; undefined: there is none. */
  retryRefused(id: string): Promise<Retried | undefined>;
}

export const openAdmin = ({
  sql,
  billing,
  plans,
  tokens,
  queues,
  lateSeconds,
  log,
  retryRefused,
}: AdminOptions): Admin => ({
  orgs: openAdminOrgs({ sql, billing, plans, queues, log }),
  users: openAdminUsers({ sql }),
  impersonations: openImpersonations({ sql, tokens }),
  queue: () => countQueue(sql, lateSeconds),
  async retryRefused(id) {
    const retried = await retryRefused(id);
    if (!retried) throw notFound('Nothing is set aside under this number');
    return retried;
  },
  dropOldImpersonations: (limit) => dropOld(sql, limit),
});
