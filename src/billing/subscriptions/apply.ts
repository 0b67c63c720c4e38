import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Json, Sql } from '../../platform/db/index.ts';
import { bind, newId } from '../../platform/kernel/index.ts';
import { dropCheckout, endCheckout } from './checkout-store.ts';
import { endOverdueGrace } from './dunning-store.ts';
import type { Notices } from './notices.ts';
import { PLANS, type Tier } from '../../entitlements/index.ts';
import { isLower, type Paid, type PaidInvoice, startsPending, tiersAfter } from './subscription-rules.ts';
import * as store from './subscription-store.ts';
import { addTask, deferCredit } from '../processor/index.ts';

/** The processor, as the one who does something. */
export const PROCESSOR: AuditActor = { userId: null, impersonatorId: null, ip: null };

export interface ApplyNeeds {
  /** Disables what is beyond the limits of the org (BI24, BI25). */
  enforceLimits(sql: Sql, orgId: string): Promise<unknown>;
  pausePosts(sql: Sql, orgId: string, message: string): Promise<void>;
  /** Starts the posts again that waited for a payment. */
  resumePosts(sql: Sql, orgId: string): Promise<void>;
  notices: Notices;
}

/** `applied`, or the reason why a state or an invoice of the processor changed nothing; the history keeps it. */
export type ApplyOutcome =
  | 'applied'
  | 'unpaid'
  | 'already_lifetime'
  | 'organization_removed'
  /** Another plan of the organization began later. */
  | 'superseded'
  | 'no_plan'
  /** The invoice belongs to a subscription that is neither the plan of now nor packs on top of it. */
  | 'not_current_plan'
  | 'card_refused';

/** Writes states of the processor into the caller's transaction, which holds the lock of the org (`lockOrg`). */
export type Apply = ReturnType<typeof openApply>;

type Plan = Extract<Paid['item'], { kind: 'plan' }>;

/** Writes an entry of the audit log about what an org pays. */
async function note(
  sql: Sql,
  orgId: string,
  action: string,
  by: AuditActor,
  detail: Record<string, Json> = {},
): Promise<void> {
  await writeAudit(sql, by, { orgId, action: `billing.${action}`, resource: 'billing', resourceId: orgId, detail });
}

/** Pauses what is queued when the grace period is over and nobody has seen that before (S80); false: it is not. */
async function lapse(deps: ApplyNeeds, sql: Sql, orgId: string): Promise<boolean> {
  if (!(await endOverdueGrace(sql, orgId))) return false;
  await deps.pausePosts(sql, orgId, 'The subscription is not paid');
  await deps.notices.lapsed(sql, orgId);
  await note(sql, orgId, 'subscription_lapsed', PROCESSOR);
  return true;
}

/** It is over, at the processor too or soon. */
async function end(
  deps: ApplyNeeds,
  sql: Sql,
  orgId: string,
  subscription: string,
  by = PROCESSOR,
): Promise<ApplyOutcome> {
  await store.endKnown(sql, orgId, subscription);
  const row = await store.findSubscription(sql, orgId);
  if (row?.processorId !== subscription) {
    if ((await store.sumPacks(sql, orgId)).count > 0) {
      await deps.enforceLimits(sql, orgId);
      await note(sql, orgId, 'addon_ended', by, { subscription });
    }
    await endGrace(deps, sql, orgId); // it may have been all that was owed
    return 'applied';
  }
  await lapse(deps, sql, orgId); // dunning, which has not come by, would find nothing any more
  await store.dropPlan(sql, orgId);
  for (const { id, addon } of await store.runningOf(sql, orgId)) if (addon) await endLater(sql, orgId, id);
  await deps.enforceLimits(sql, orgId);
  await note(sql, orgId, 'subscription_ended', by, { tier: row.tier, subscription });
  return 'applied';
}

/**
 * Ours is over now; the processor is told after the commit. The rest is credited; where a charge for it is to go back,
 * once that has or has not, since money is given back once.
 */
async function endLater(sql: Sql, orgId: string, subscription: string, refundRest = true): Promise<void> {
  await store.endKnown(sql, orgId, subscription);
  await addTask(sql, orgId, {
    kind: 'cancel',
    subscription,
    refundRest: refundRest && !(await deferCredit(sql, orgId, subscription)),
  });
}

/** Everything that the org pays for is over, because the org goes; the processor is told after the commit. */
async function endAll(sql: Sql, orgId: string, by = PROCESSOR): Promise<void> {
  const running = await store.runningOf(sql, orgId);
  for (const { id } of running) await endLater(sql, orgId, id);
  await store.dropPlan(sql, orgId);
  if (running.length > 0)
    await note(sql, orgId, 'subscription_ended', by, { subscriptions: running.map(({ id }) => id) });
}

/** A plan is paid for, or in its trial. */
async function plan(
  deps: ApplyNeeds,
  sql: Sql,
  orgId: string,
  paid: Paid,
  item: Plan,
  by: AuditActor,
): Promise<ApplyOutcome> {
  const row = await store.findSubscription(sql, orgId);
  if (row?.isLifetime) {
    await endLater(sql, orgId, paid.id);
    return 'already_lifetime';
  }
  if ((await store.nameOf(sql, orgId)).gone) {
    await endLater(sql, orgId, paid.id); // its page was still open
    return 'organization_removed';
  }
  if (row?.processorId && row.processorId !== paid.id) {
    const other = (await store.runningOf(sql, orgId)).find(({ id }) => id === row.processorId);
    const isNewer = !other || paid.startedAt >= other.startedAt;
    await endLater(sql, orgId, isNewer ? row.processorId : paid.id);
    if (!isNewer) return 'superseded';
  }
  // Withdrawn, perhaps in the portal of the processor: the next cancellation is a new one, and told.
  if (row?.cancelAt && !paid.cancelAt) await store.noteFeedback(sql, orgId, false);
  const { tier, pending } = tiersAfter(item, row, paid.id);
  await store.savePlan(sql, orgId, {
    id: row?.id ?? newId(),
    tier,
    period: item.period,
    identifier: paid.identifier,
    processorId: paid.id,
    totalChannels: PLANS[tier].limits.channel,
    pendingTier: pending?.tier ?? null,
    pendingFrom: pending?.from ?? null,
    isLifetime: false,
    isTrial: paid.inTrial,
    trialEndsAt: paid.trialEndsAt,
    cancelAt: paid.cancelAt,
    currentPeriodEnd: paid.periodEnd,
  });
  await store.sumPacks(sql, orgId);
  if (!row) await deps.resumePosts(sql, orgId);
  if (row && isLower(tier, row.tier)) await deps.enforceLimits(sql, orgId);
  if (!row || row.tier !== tier || row.period !== item.period || row.pendingTier !== (pending?.tier ?? null))
    await note(sql, orgId, row ? 'plan_changed' : 'subscribed', by, {
      tier,
      period: item.period,
      pendingTier: pending?.tier ?? null,
      before: row?.tier ?? null,
      subscription: paid.id,
    });
  return 'applied';
}

/** Packs on top of a plan are paid for. */
async function packs(deps: ApplyNeeds, sql: Sql, orgId: string, paid: Paid, by: AuditActor): Promise<ApplyOutcome> {
  const row = await store.findSubscription(sql, orgId);
  if (!row) {
    await endLater(sql, orgId, paid.id); // their plan ended while they were being bought (S218)
    return 'no_plan';
  }
  if ((await store.sumPacks(sql, orgId)).count === 0) return 'applied';
  await deps.enforceLimits(sql, orgId); // fewer packs than before, perhaps
  if (paid.item.kind === 'packs')
    await note(sql, orgId, 'addon_changed', by, {
      type: paid.item.dimension,
      packs: paid.item.packs,
      tier: row.tier,
    });
  return 'applied';
}

/** Tells whether a subscription is the plan of an org, or packs that were paid for once. */
async function isInUse(
  sql: Sql,
  orgId: string,
  { processorId }: store.SubscriptionRow,
  subscription: string,
): Promise<boolean> {
  if (processorId === subscription) return true;
  const running = await store.runningOf(sql, orgId);
  return running.some(({ id, addon, packs: bought }) => id === subscription && addon !== null && bought > 0);
}

/** An invoice of a subscription was paid. */
async function invoicePaid(
  deps: ApplyNeeds,
  sql: Sql,
  orgId: string,
  subscription: string,
  invoice: PaidInvoice,
): Promise<ApplyOutcome> {
  const row = await store.findSubscription(sql, orgId);
  if (!row || !(await isInUse(sql, orgId, row, subscription))) return 'not_current_plan';
  await store.noteOwing(sql, orgId, subscription, false);
  await paidUp(deps, sql, orgId, subscription);
  if (row.processorId === subscription && row.pendingTier && startsPending(invoice, row.pendingFrom))
    await startPending(deps, sql, orgId, subscription, row.tier, row.pendingTier);
  return 'applied';
}

/** Ends the grace period unless plan or packs owe something; false where none ends. */
async function endGrace(deps: ApplyNeeds, sql: Sql, orgId: string): Promise<boolean> {
  if ((await store.runningOf(sql, orgId)).some(({ owing }) => owing)) return false;
  const grace = await store.endGrace(sql, orgId);
  if (grace?.wasOver) {
    await deps.enforceLimits(sql, orgId); // packs may have ended meanwhile, or a lower plan begun
    await deps.resumePosts(sql, orgId);
  }
  return grace !== undefined;
}

async function paidUp(deps: ApplyNeeds, sql: Sql, orgId: string, subscription: string): Promise<void> {
  if (await endGrace(deps, sql, orgId)) await note(sql, orgId, 'paid', PROCESSOR, { subscription });
}

async function startPending(
  deps: ApplyNeeds,
  sql: Sql,
  orgId: string,
  subscription: string,
  before: Tier,
  tier: Tier,
): Promise<void> {
  await store.startPending(sql, orgId, PLANS[tier].limits.channel);
  await deps.enforceLimits(sql, orgId);
  await addTask(sql, orgId, { kind: 'apply', subscription, tier });
  await note(sql, orgId, 'plan_changed', PROCESSOR, { tier, before, subscription });
}

/** An invoice of a subscription could not be collected. */
async function invoiceFailed(deps: ApplyNeeds, sql: Sql, orgId: string, subscription: string): Promise<ApplyOutcome> {
  const row = await store.findSubscription(sql, orgId);
  if (!row || !(await isInUse(sql, orgId, row, subscription))) return 'not_current_plan';
  await store.noteOwing(sql, orgId, subscription, true);
  const until = await deps.notices.startGrace(sql, orgId);
  if (until) await note(sql, orgId, 'payment_failed', PROCESSOR, { subscription, gracePeriodEnd: until.toISOString() });
  return 'applied';
}

/**
 * The processor says that a plan or packs owe nothing. An invoice that was given up, or paid elsewhere, is told by no
 * event that we hear: the grace period ends by this. An event may say how it stood before the payment failed, so the
 * processor is asked.
 */
async function nothingOwed(
  deps: ApplyNeeds,
  sql: Sql,
  orgId: string,
  subscription: string,
  eventAt: Date | undefined,
): Promise<void> {
  if (!(await store.findSubscription(sql, orgId))?.gracePeriodEnd) return;
  if (eventAt) await addTask(sql, orgId, { kind: 'sync', subscription });
  else await paidUp(deps, sql, orgId, subscription);
}

/** Writes how a subscription stands at the processor. */
async function state(
  deps: ApplyNeeds,
  sql: Sql,
  orgId: string,
  paid: Paid,
  { eventAt, changedAt, by = PROCESSOR }: { eventAt?: Date; changedAt?: Date; by?: AuditActor } = {},
): Promise<ApplyOutcome> {
  await store.saveKnown(sql, orgId, paid, { eventAt, changedAt });
  if (paid.state === 'open') return 'unpaid';
  await endCheckout(sql, orgId, paid.identifier);
  if (paid.state === 'over') return end(deps, sql, orgId, paid.id, by);
  const outcome =
    paid.item.kind === 'plan'
      ? await plan(deps, sql, orgId, paid, paid.item, by)
      : await packs(deps, sql, orgId, paid, by);
  if (outcome === 'applied' && paid.owing) await invoiceFailed(deps, sql, orgId, paid.id);
  if (outcome === 'applied' && !paid.owing && paid.invoice) await invoicePaid(deps, sql, orgId, paid.id, paid.invoice);
  if (outcome === 'applied' && !paid.owing) await nothingOwed(deps, sql, orgId, paid.id, eventAt);
  return outcome;
}

/** The card of a trial was refused: it never begins (S79). */
async function refuseCard(
  deps: ApplyNeeds,
  sql: Sql,
  orgId: string,
  paid: Paid,
  eventAt?: Date,
): Promise<ApplyOutcome> {
  await store.saveKnown(sql, orgId, paid, { eventAt });
  await endLater(sql, orgId, paid.id, false);
  await dropCheckout(sql, orgId, paid.identifier);
  await deps.notices.cardRefused(sql, orgId);
  await note(sql, orgId, 'card_refused', PROCESSOR, { subscription: paid.id });
  return 'card_refused';
}

/** What states of the processor change in the database; the rooms of others are handed in. */
export const openApply = (deps: ApplyNeeds) => ({
  ...bind(deps, { end, lapse, invoicePaid, invoiceFailed, state, refuseCard }),
  endAll,
  endLater,
  note,
});
