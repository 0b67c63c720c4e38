import type { AuditActor } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, bind, invalidField, notFound } from '../../platform/kernel/index.ts';
import type { Addon } from '../../entitlements/index.ts';
import type { Buyer, Checkouts } from './checkout.ts';
import { type Dimension, DIMENSIONS, isDimension, type Tier } from '../../entitlements/index.ts';
import { CardRefused, type Processor } from '../processor/index.ts';
import type { OverLimit, LimitEnforcement } from '../../entitlements/index.ts';
import type { Apply } from '../subscriptions/index.ts';
import { changeFor, isTier, moveTo, packOffer, type Period, planOffer } from '../subscriptions/index.ts';
import { subscriptionStore as store } from '../subscriptions/index.ts';
import type { SubscriptionRow } from '../subscriptions/index.ts';
import type { Tasks } from './tasks.ts';

export interface OrdersNeeds {
  sql: Database;
  processor: Processor;
  apply: Apply;
  checkouts: Checkouts;
  tasks: Tasks;
  limits: LimitEnforcement;
  addons: Readonly<Record<Dimension, Addon>>;
  serviceName: string;
  portal(orgId: string): Promise<string>;
}
export interface PlanWish {
  tier: Tier;
  period: Period;
  /** Where the buyer came from; kept with the purchase. */
  utm?: string | undefined;
}
/** A page to pay on, a page to apply a failed payment on, or the subscription as it is now (S64). */
export type Ordered = { url: string } | { portal: string } | { subscription: SubscriptionRow };
export interface AddonPacks {
  type: Dimension;
  packs: number;
  packSize: number;
  priceCents: number;
}

const conflict = (message: string) => new AppError('conflict', message);
const impossible = () =>
  invalidField(
    'period',
    'a lower plan starts with the next invoice and keeps its period; change the period first',
    'invalid_value',
  );

/** The row of a plan that is paid at the processor; a lifetime org cannot order one. */
async function running(
  { sql }: OrdersNeeds,
  orgId: string,
): Promise<(SubscriptionRow & { processorId: string; periodEnd: Date }) | undefined> {
  const row = await store.findSubscription(sql, orgId);
  if (row?.isLifetime) throw conflict('This organization has its plan for life');
  return row?.processorId
    ? { ...row, processorId: row.processorId, periodEnd: row.currentPeriodEnd ?? row.updatedAt }
    : undefined;
}

const packsOf = async ({ sql }: OrdersNeeds, orgId: string, type: Dimension, tx: Sql = sql) =>
  (await store.runningOf(tx, orgId)).filter(({ addon }) => addon === type);

async function subscribe(
  deps: OrdersNeeds,
  orgId: string,
  by: Buyer,
  { tier, period, utm }: PlanWish,
): Promise<Ordered> {
  const { serviceName, checkouts, portal, tasks, apply, sql } = deps;
  let row = await running(deps, orgId);
  if (row && !row.gracePeriodEnd && moveTo(row, { tier, period }) === 'later') {
    // It waits for the end of the period that runs: the word of one that has just begun may be under way still.
    await tasks.sync(orgId, row.processorId);
    row = await running(deps, orgId);
  }
  const offer = planOffer(serviceName, { tier, period });
  if (!row) {
    const metadata = { billing: tier, period, ...(utm && { utm: utm.slice(0, 500) }) };
    const has = async (tx: Sql) => {
      const now = await store.findSubscription(tx, orgId);
      return now !== undefined && (now.isLifetime || now.processorId !== null);
    };
    return {
      url: await checkouts.open(orgId, by, {
        intent: { item: tier, period, packs: 0 },
        rivals: isTier,
        has,
        offer,
        metadata,
        mayTry: true,
      }),
    };
  }
  const move = moveTo(row, { tier, period });
  if (move === 'impossible') throw impossible();
  if (move === 'same') throw conflict(`This is the plan already: ${tier}, ${period}`);
  if (row.gracePeriodEnd) return { portal: await portal(orgId) };
  if (move !== 'pending')
    try {
      const change = changeFor(move, row, { tier, period }, offer);
      await tasks.change(orgId, row.processorId, change, by, (tx) =>
        apply.note(tx, orgId, 'plan_ordered', by, { tier, period, move }),
      );
    } catch (error) {
      if (error instanceof CardRefused) return { portal: await portal(orgId) };
      throw error;
    }
  const subscription = await store.findSubscription(sql, orgId);
  if (!subscription) throw conflict('The subscription has just ended');
  return { subscription };
}

/** Cents that `subscribe` would cost at once, and what a lower plan leaves no room for. */
async function prorate(
  deps: OrdersNeeds,
  orgId: string,
  { tier, period }: PlanWish,
): Promise<{ price: number; pruned: OverLimit }> {
  const { serviceName, sql, limits, processor } = deps;
  const row = await running(deps, orgId);
  const offer = planOffer(serviceName, { tier, period });
  if (!row) {
    const { allowTrial } = await store.nameOf(sql, orgId);
    return { price: allowTrial ? 0 : offer.cents, pruned: await limits.findOverLimit(sql, orgId, tier) };
  }
  const move = moveTo(row, { tier, period });
  if (move === 'impossible') throw impossible();
  const price = move === 'now' && !row.isTrial ? Math.max(0, await processor.preview(row.processorId, offer)) : 0;
  return { price, pruned: await limits.findOverLimit(sql, orgId, tier) };
}

async function listAddons({ sql, addons }: OrdersNeeds, orgId: string): Promise<AddonPacks[]> {
  const known = await store.runningOf(sql, orgId);
  return DIMENSIONS.map((type) => ({
    type,
    packs: known.reduce((sum, { addon, packs }) => sum + (addon === type ? packs : 0), 0),
    ...addons[type],
  }));
}

/** Makes it so many packs: the first ones are paid on a page, from then on their number is changed. */
async function setAddon(
  deps: OrdersNeeds,
  orgId: string,
  by: Buyer,
  type: Dimension,
  packs: number,
): Promise<{ url: string } | { type: Dimension; packs: number }> {
  const { sql, portal, serviceName, addons, checkouts, tasks, apply } = deps;
  const row = await store.findSubscription(sql, orgId);
  if (row?.isLifetime)
    throw new AppError('lifetime_no_addons', 'An organization with a plan for life cannot buy add-ons');
  if (!row) throw conflict('Packs come on top of a plan: subscribe to one first');
  if (row.gracePeriodEnd) return { url: await portal(orgId) };
  const [first, ...more] = await packsOf(deps, orgId, type);
  if (!first) {
    const offer = packOffer(serviceName, type, addons[type].priceCents);
    const intent = { item: type, period: 'MONTHLY' as const, packs };
    const has = async (tx: Sql) => (await packsOf(deps, orgId, type, tx)).length > 0;
    return {
      url: await checkouts.open(orgId, by, {
        intent,
        rivals: (item) => item === type,
        has,
        offer,
        metadata: { addon: type },
        mayTry: false,
      }),
    };
  }
  // of two pages that were paid at once, one stays
  for (const { id } of more) await tasks.change(orgId, id, { cancelAtPeriodEnd: true }, by);
  const change = {
    ...(packs !== first.packs && { quantity: packs }),
    ...(first.cancelAt && { cancelAtPeriodEnd: false }),
  };
  if (Object.keys(change).length > 0)
    try {
      await tasks.change(orgId, first.id, change, by, (tx) =>
        apply.note(tx, orgId, 'addon_ordered', by, { type, packs }),
      );
    } catch (error) {
      if (error instanceof CardRefused) return { url: await portal(orgId) };
      throw error;
    }
  return { type, packs };
}

/** The packs go at the end of what is paid for. */
async function removeAddon(
  deps: OrdersNeeds,
  orgId: string,
  by: AuditActor,
  type: string,
): Promise<{ type: Dimension; packs: 0 }> {
  if (!isDimension(type)) throw notFound();
  const bought = await packsOf(deps, orgId, type);
  if (bought.length === 0) throw notFound('No such add-on');
  for (const { id, cancelAt } of bought)
    if (!cancelAt)
      await deps.tasks.change(orgId, id, { cancelAtPeriodEnd: true }, by, (tx) =>
        deps.apply.note(tx, orgId, 'addon_cancelled', by, { type }),
      );
  return { type, packs: 0 };
}

/** Buying, and changing what was bought (S64 to S66). */
export const openOrders = (deps: OrdersNeeds) => bind(deps, { subscribe, prorate, listAddons, setAddon, removeAddon });
