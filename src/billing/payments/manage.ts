import type { AuditActor } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import type { Email } from '../../delivery/email/index.ts';
import { AppError, bind, invalidField, type Vault } from '../../platform/kernel/index.ts';
import type { Processor } from '../processor/index.ts';
import type { Apply } from '../subscriptions/index.ts';
import { planMetadata } from '../subscriptions/index.ts';
import { subscriptionStore as store } from '../subscriptions/index.ts';
import type { SubscriptionRow } from '../subscriptions/index.ts';
import type { Tasks } from './tasks.ts';

export interface ManageNeeds {
  sql: Database;
  processor: Processor;
  apply: Apply;
  tasks: Tasks;
  email: Email;
  vault: Vault;
  lockOrg(sql: Sql, orgId: string): Promise<void>;
  frontendUrl: string;
  feedbackEmail: string | undefined;
  discountId: string | undefined;
}

const conflict = (message: string) => new AppError('conflict', message);

async function paidPlan({ sql }: ManageNeeds, orgId: string): Promise<SubscriptionRow & { processorId: string }> {
  const row = await store.findSubscription(sql, orgId);
  if (!row) throw conflict('There is no subscription');
  if (!row.processorId) throw conflict('This plan is not paid for, so there is nothing to cancel');
  return { ...row, processorId: row.processorId };
}

/** To the operator (BI34, S222); without mail the words are kept in the audit log. */
async function tellOperator(
  { apply, email, feedbackEmail }: ManageNeeds,
  tx: Sql,
  orgId: string,
  by: AuditActor,
  feedback: string,
  endsAt: Date | null,
): Promise<void> {
  await apply.note(tx, orgId, 'cancelled', by, {
    endsAt: endsAt?.toISOString() ?? null,
    ...(!email.enabled && { feedback }),
  });
  const to = feedbackEmail ?? (await store.firstSuperAdmin(tx));
  if (to === undefined) return;
  const [{ name: orgName }, userEmail = ''] = await Promise.all([
    store.nameOf(tx, orgId),
    store.emailOf(tx, by.userId),
  ]);
  await email.queue(tx, {
    to,
    orgId,
    content: {
      template: 'subscription-cancelled',
      data: { orgName, orgId, userEmail, feedback, endsAt: endsAt?.toISOString() ?? null },
    },
  });
}

async function portal({ sql, processor, frontendUrl }: ManageNeeds, orgId: string): Promise<string> {
  const customer = await store.findCustomer(sql, orgId);
  if (customer === undefined) throw conflict('This organization has not paid anything yet');
  return processor.portal(customer, `${frontendUrl.replace(/\/$/, '')}/billing`);
}

/** At the end of the period, or not after all. A repeat changes nothing (S69). */
async function cancel(
  deps: ManageNeeds,
  orgId: string,
  by: AuditActor,
  { feedback, undo }: { feedback: string; undo: boolean },
): Promise<{ id: string; cancelAt: Date | null }> {
  const { tasks, apply, sql } = deps;
  const row = await paidPlan(deps, orgId);
  // without a date the feedback alone tells of a cancellation whose answer could not be read
  const nothingToDo = undo
    ? row.cancelAt === null && row.feedbackAt === null
    : row.cancelAt !== null && row.feedbackAt !== null;
  if (!nothingToDo)
    await tasks.change(orgId, row.processorId, { cancelAtPeriodEnd: !undo }, by, async (tx) => {
      const first = await store.noteFeedback(tx, orgId, !undo);
      if (undo) return apply.note(tx, orgId, 'cancellation_withdrawn', by);
      if (!first) return; // the same wish came twice at once
      await tellOperator(deps, tx, orgId, by, feedback, (await store.findSubscription(tx, orgId))?.cancelAt ?? null);
    });
  return { id: row.id, cancelAt: (await store.findSubscription(sql, orgId))?.cancelAt ?? null };
}

/** Now. What is heard of it later changes nothing more. */
async function cancelNow(deps: ManageNeeds, orgId: string, by: AuditActor): Promise<void> {
  const { processor, sql, lockOrg, apply, tasks } = deps;
  const { processorId } = await paidPlan(deps, orgId);
  await processor.cancel(processorId);
  await sql.begin(async (tx) => {
    await lockOrg(tx, orgId);
    await apply.end(tx, orgId, processorId, by);
  });
  tasks.begin(orgId);
}

async function finishTrial({ sql, tasks, apply }: ManageNeeds, orgId: string, by: AuditActor): Promise<void> {
  const row = await store.findSubscription(sql, orgId);
  if (!row?.isTrial || !row.processorId) throw conflict('There is no trial under way');
  // The period begins anew: a lower plan that was wished for begins with the invoice of now, not with that of the day
  // on which the trial would have ended.
  const metadata =
    row.pendingTier && planMetadata(row.tier, row.period, { tier: row.pendingTier, from: row.createdAt });
  await tasks.change(orgId, row.processorId, { endTrial: true, ...(metadata && { metadata }) }, by, (tx) =>
    apply.note(tx, orgId, 'trial_finished', by),
  );
}

async function isTrialFinished({ sql }: ManageNeeds, orgId: string): Promise<boolean> {
  const row = await store.findSubscription(sql, orgId);
  return row ? !row.isTrial : !(await store.nameOf(sql, orgId)).allowTrial;
}

/**
 * The subscription that the operator's coupon is for: an existing one by the month, without a discount (DE7). An
 * organization takes the same coupon once, as the processor forgets one that has ended. The metadata of the subscription
 * tells of a coupon that was given while the answer of the processor was lost.
 */
async function discounted(
  { discountId, sql, processor }: ManageNeeds,
  orgId: string,
): Promise<{ subscription: string } | 'taken' | undefined> {
  if (discountId === undefined) return undefined;
  if (await store.tookCoupon(sql, orgId, discountId)) return 'taken';
  const row = await store.findSubscription(sql, orgId);
  if (!row?.processorId || row.period !== 'MONTHLY' || row.isTrial || row.gracePeriodEnd || row.cancelAt)
    return undefined;
  const remote = await processor.subscription(row.processorId);
  if (remote?.metadata?.['coupon'] === discountId) return 'taken';
  return remote && (remote.discounts ?? []).length === 0 ? { subscription: row.processorId } : undefined;
}

async function offerDiscount(deps: ManageNeeds, orgId: string): Promise<string | false> {
  const found = await discounted(deps, orgId);
  if (found === undefined || found === 'taken') return false;
  return deps.vault.seal(JSON.stringify({ use: 'discount', orgId, ...found }));
}

function judgeToken({ vault }: ManageNeeds, orgId: string, token: string): void {
  try {
    // Other sealed texts open by the same key: only one that was made for this counts.
    const { use, orgId: of } = JSON.parse(vault.open(token)) as { use?: string; orgId?: string };
    if (use === 'discount' && of === orgId) return;
  } catch {
    // refused below
  }
  throw invalidField('token', 'take it from /billing/check-discount', 'invalid_value');
}

/** Answers a repeated call as the first one: nobody knows which of their answers have arrived. */
async function applyDiscount(deps: ManageNeeds, orgId: string, by: AuditActor, token: string): Promise<boolean> {
  const { sql, discountId, tasks, apply } = deps;
  judgeToken(deps, orgId, token);
  const found = await discounted(deps, orgId);
  if (found === undefined || discountId === undefined) return false;
  const note = async (tx: Sql) => {
    if (await store.noteCoupon(tx, orgId, discountId)) await apply.note(tx, orgId, 'discount_applied', by);
  };
  if (found === 'taken') await sql.begin(note);
  else
    await tasks.change(orgId, found.subscription, { coupon: discountId, metadata: { coupon: discountId } }, by, note);
  return true;
}

/** Changes to the subscription that an org has. */
export const openManage = (deps: ManageNeeds) =>
  bind(deps, { portal, cancel, cancelNow, finishTrial, isTrialFinished, offerDiscount, applyDiscount });
