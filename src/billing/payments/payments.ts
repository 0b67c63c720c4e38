import type { AuditActor } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import type { Clock, Vault } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { Addon } from '../../entitlements/index.ts';
import { type Buyer, openCheckouts } from './checkout.ts';
import { openCharges, type Refunds } from './charges.ts';
import { openPaymentEvents, type PaymentEvents, type ReceivedEvent } from './events.ts';
import { type Codes, openLifetime } from './lifetime.ts';
import { openManage } from './manage.ts';
import { openNotices } from '../subscriptions/index.ts';
import { type AddonPacks, openOrders, type Ordered, type PlanWish } from './orders.ts';
import { openDunning } from '../subscriptions/index.ts';
import type { Dimension, Tier } from '../../entitlements/index.ts';
import type { Charge, Processor } from '../processor/index.ts';
import type { OverLimit } from '../../entitlements/index.ts';
import type { Billing } from '../../entitlements/index.ts';
import { openApply } from '../subscriptions/index.ts';
import { subscriptionStore as store } from '../subscriptions/index.ts';
import type { Notifications } from '../../people/notifications/index.ts';
import type { Queue } from './ports.ts';
import { openTasks } from './tasks.ts';

export interface PaymentsOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  email: Email;
  billing: Billing;
  processor: Processor;
  codes: Codes;
  addons: Readonly<Record<Dimension, Addon>>;
  settings: { serviceName: string; feedbackEmail: string | undefined; discountId: string | undefined };
  frontendUrl: string;
  /** System roles that hold `billing:manage`. */
  payingRoles: readonly string[];
  notifications: Pick<Notifications, 'tellHolders'>;
  queue: Queue;
  log: Log;
  events: PaymentEvents;
}

/** Plans, packs and charges of an org, and the events of the processor about them. */
export interface Payments extends AsyncDisposable {
  readonly addons: Readonly<Record<Dimension, Addon>>;
  subscription(orgId: string): Promise<store.SubscriptionRow | undefined>;
  /** The id of the org's customer at the processor; undefined before the first order. */
  customer(orgId: string): Promise<string | undefined>;
  subscribe(orgId: string, by: Buyer, wish: PlanWish): Promise<Ordered>;
  /** Cents due at once, and what a lower plan leaves no room for. */
  prorate(orgId: string, wish: PlanWish): Promise<{ price: number; pruned: OverLimit }>;
  /** 0 not found, 1 pending, 2 done. */
  check(orgId: string, id: string): Promise<0 | 1 | 2>;
  listAddons(orgId: string): Promise<AddonPacks[]>;
  setAddon(
    orgId: string,
    by: Buyer,
    type: Dimension,
    packs: number,
  ): Promise<{ url: string } | { type: Dimension; packs: number }>;
  removeAddon(orgId: string, by: AuditActor, type: string): Promise<{ type: Dimension; packs: 0 }>;
  charges(orgId: string): Promise<Charge[]>;
  refundCharges(orgId: string, by: AuditActor, ids: readonly string[], anyAge: boolean): Promise<Refunds>;
  portal(orgId: string): Promise<string>;
  cancel(
    orgId: string,
    by: AuditActor,
    wish: { feedback: string; undo: boolean },
  ): Promise<{ id: string; cancelAt: Date | null }>;
  cancelNow(orgId: string, by: AuditActor): Promise<void>;
  finishTrial(orgId: string, by: AuditActor): Promise<void>;
  isTrialFinished(orgId: string): Promise<boolean>;
  offerDiscount(orgId: string): Promise<string | false>;
  applyDiscount(orgId: string, by: AuditActor, token: string): Promise<boolean>;
  redeem(orgId: string, by: AuditActor, code: string): Promise<void>;
  mintCodes(by: AuditActor, count: number): Promise<string[]>;
  /** Gives an org a plan by hand, in the caller's transaction (S211); 409 for one that pays. */
  grant(sql: Sql, orgId: string, by: AuditActor, tier: Tier): Promise<void>;
  /** Ends what is paid for an org that goes, packs too, in the transaction in which it goes. */
  endAll(sql: Sql, orgId: string): Promise<void>;
  /** A delivery of the processor. */
  receive(body: Uint8Array, signature: string): Promise<ReceivedEvent>;
  /** Runs the transitions of trial and grace period that are due for an org; the time of the next one (null: none). */
  runTransitions(orgId: string): Promise<void>;
  nextTransition(orgId: string): Promise<Date | null>;
  /** Runs due transitions, waiting calls to the processor, and the removal of old checkout pages; answers how many. */
  sweep(limit: number): Promise<number>;
}

/** The payments of an instance with a processor; without one see `paymentsOff`. */
export function openPayments({
  sql,
  clock,
  vault,
  email,
  billing,
  processor,
  codes,
  addons,
  settings,
  frontendUrl,
  payingRoles,
  notifications,
  queue,
  log,
  events,
}: PaymentsOptions): Payments {
  const { serviceName } = settings;
  const { lockOrg, enforceLimits } = billing;
  const resumePosts = queue.resumeQueue;

  const notices = openNotices({ email, frontendUrl, payingRoles, notifications });
  const apply = openApply({ enforceLimits, pausePosts: queue.pauseQueue, resumePosts, notices });
  const tasks = openTasks({ sql, processor, apply, lockOrg, log });
  const checkouts = openCheckouts({
    sql,
    processor,
    apply,
    lockOrg,
    afterwards: tasks.begin,
    log,
    serviceName,
    frontendUrl,
  });
  const manage = openManage({ sql, processor, apply, tasks, email, vault, lockOrg, frontendUrl, ...settings });
  const { portal } = manage;
  const orders = openOrders({ sql, processor, apply, checkouts, tasks, limits: billing, addons, serviceName, portal });
  const {
    redeem,
    mint: mintCodes,
    grant,
  } = openLifetime({ sql, codes, apply, tasks, lockOrg, enforceLimits, resumePosts });
  const dunning = openDunning({
    sql,
    lockOrg,
    notices,
    apply,
    afterwards: tasks.begin,
    log,
  });

  return {
    ...manage,
    ...orders,
    ...openCharges({ sql, clock, processor, tasks, lockOrg }),
    addons,
    redeem,
    mintCodes,
    grant,
    subscription: (orgId) => store.findSubscription(sql, orgId),
    customer: (orgId) => store.findCustomer(sql, orgId),
    check: checkouts.check,
    receive: openPaymentEvents({ sql, processor, apply, lockOrg, serviceName, events, afterwards: tasks.begin }),
    async endAll(tx, orgId) {
      await lockOrg(tx, orgId);
      await apply.endAll(tx, orgId);
    },
    runTransitions: dunning.runTransitions,
    nextTransition: dunning.nextTransition,
    async sweep(limit) {
      return (await dunning.sweep(limit)) + (await tasks.run(limit)) + (await checkouts.dropOld(limit));
    },
    [Symbol.asyncDispose]: () => tasks[Symbol.asyncDispose](),
  };
}
