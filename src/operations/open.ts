import type { Payments } from '../billing/payments/index.ts';
import type { Webhooks } from '../delivery/webhooks/index.ts';
import type { Billing } from '../entitlements/index.ts';
import type { AuthRoom } from '../people/auth/index.ts';
import type { Identity } from '../people/identity/index.ts';
import type { Organizations } from '../people/organizations/index.ts';
import type { Config } from '../platform/config/index.ts';
import type { Database, RetentionRule, Sql } from '../platform/db/index.ts';
import type { Clock } from '../platform/kernel/index.ts';
import type { Retried } from '../platform/outbox/index.ts';
import type { Logs } from '../platform/telemetry/index.ts';
import { wing } from '../platform/wing/index.ts';
import type { Posts } from '../publishing/posts/index.ts';
import { openAdmin } from './admin/index.ts';
import { openErasure } from './erasure/index.ts';
import { type HealthEngine, openHealth } from './health/index.ts';
import { openRetention } from './retention/index.ts';
import { openSandbox } from './sandbox/index.ts';

export interface OperationsNeeds {
  config: Config;
  sql: Database;
  clock: Clock;
  logs: Logs;
  engine: HealthEngine;
  actorTypes: readonly string[];
  billing: Billing;
  auth: AuthRoom;
  identity: Identity;
  organizations: Organizations;
  payments: Payments;
  webhooks: Webhooks;
  posts: Posts;
  /** Stops and starts what an organization has queued, in the transaction that decides so. */
  queue: {
    pauseQueue(transaction: Sql, orgId: string, message: string, reason: 'instance'): Promise<void>;
    resumeQueue(transaction: Sql, orgId: string, reason: 'instance'): Promise<void>;
  };
  retentionRules: readonly RetentionRule[];
  retryRefused(id: string): Promise<Retried | undefined>;
}

const REMINDERS_AT_ONCE = 500;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Opens what operators see and do. */
export async function openOperationsWing({
  config,
  sql,
  clock,
  logs,
  engine,
  actorTypes,
  billing,
  auth,
  identity,
  organizations,
  payments,
  webhooks,
  posts,
  queue,
  retentionRules,
  retryRefused,
}: OperationsNeeds) {
  await using opened = new AsyncDisposableStack();
  const admin = openAdmin({
    sql,
    billing,
    plans: payments,
    tokens: auth.tokens,
    queues: {
      pause: (transaction, orgId, message) => queue.pauseQueue(transaction, orgId, message, 'instance'),
      resume: (transaction, orgId) => queue.resumeQueue(transaction, orgId, 'instance'),
      remind: () => posts.sweeps.enter(REMINDERS_AT_ONCE),
    },
    lateSeconds: config.posts.lateSeconds,
    log: logs.of('admin'),
    retryRefused,
  });
  const health = openHealth({ sql, clock, engine, posts, webhooks, wired: actorTypes });
  const sandbox = openSandbox(sql);
  const retention = openRetention({ sql, config, rules: retentionRules });
  const erasure = openErasure({ sql, accounts: auth.accounts, identity, organizations });
  return wing(opened, {
    rooms: { admin, health, sandbox, retention, erasure },
    sweeps: [
      { name: 'disabled-orgs', everyMs: MINUTE, run: (limit) => admin.orgs.keepStill(limit) },
      { name: 'impersonations', everyMs: HOUR, run: (limit) => admin.dropOldImpersonations(limit) },
      { name: 'sandbox-ledger', everyMs: HOUR, run: (limit) => sandbox.dropOldLedger(limit) },
    ],
  });
}
