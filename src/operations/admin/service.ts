import type { AuthTokens } from '../../people/auth/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import type { Payments } from '../../billing/payments/index.ts';
import type { Database } from '../../platform/db/index.ts';
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
  /** Forgets what is over, at most `limit`; answers how many. */
  dropOldImpersonations(limit: number): Promise<number>;
}

export interface AdminOptions {
  sql: Database;
  billing: Pick<Billing, 'usage' | 'lockOrg'>;
  plans: Pick<Payments, 'grant'>;
  tokens: Pick<AuthTokens, 'signImpersonation' | 'verifyImpersonation'>;
  queues: Queues;
  lateSeconds: number;
}

export const openAdmin = ({ sql, billing, plans, tokens, queues, lateSeconds }: AdminOptions): Admin => ({
  orgs: openAdminOrgs({ sql, billing, plans, queues }),
  users: openAdminUsers({ sql }),
  impersonations: openImpersonations({ sql, tokens }),
  queue: () => countQueue(sql, lateSeconds),
  dropOldImpersonations: (limit) => dropOld(sql, limit),
});
