import { type Dimension, isDimension, PLANS, type Tier, TIERS } from '../../entitlements/index.ts';
import type { SubscriptionChange, Offer, RemoteInvoice, RemoteSubscription } from '../processor/index.ts';

export const PERIODS = ['MONTHLY', 'YEARLY'] as const;
export type Period = (typeof PERIODS)[number];
export const isTier = (text: string): text is Tier => (TIERS as readonly string[]).includes(text);
const isPeriod = (text: string): text is Period => (PERIODS as readonly string[]).includes(text);

export const TRIAL_DAYS = 30;
export const GRACE_DAYS = 7;
/** Days of the grace period on which the notices go out (S220). */
export const NOTICE_DAYS = [0, 3, 6] as const;
export const REFUND_DAYS = 14;

/** A plan or packs that an org pays for, read from what the processor says. */
export interface Paid {
  id: string;
  customer: string;
  /** `metadata.uniqueId`: the checkout that it came from. */
  identifier: string;
  item:
    | { kind: 'plan'; tier: Tier; period: Period; pending: { tier: Tier; from: Date } | null }
    | { kind: 'packs'; dimension: Dimension; packs: number };
  /** `open`: not paid for the first time yet. */
  state: 'open' | 'live' | 'over';
  /** The processor could not collect what is due. */
  owing: boolean;
  /** The processor tries no more to collect it, and goes on with it all the same. */
  givenUp: boolean;
  inTrial: boolean;
  startedAt: Date;
  trialEndsAt: Date | null;
  cancelAt: Date | null;
  periodEnd: Date | null;
  /** The invoice that was paid last, where the processor told of it. */
  invoice: PaidInvoice | null;
}
/** `cycle`: it may have opened a further billing period; which one, its time says. */
export interface PaidInvoice {
  cycle: boolean;
  createdAt: Date;
}

const STATES: Readonly<Record<string, Paid['state']>> = {
  incomplete: 'open',
  trialing: 'live',
  active: 'live',
  past_due: 'live',
  unpaid: 'live',
  paused: 'live',
  canceled: 'over',
  incomplete_expired: 'over',
};
const GIVEN_UP = new Set(['unpaid', 'paused']);
const OWING = new Set(['past_due', ...GIVEN_UP]);
const at = (seconds: number | null | undefined): Date | null => (seconds ? new Date(seconds * 1000) : null);

/** The most packs that somebody may have set at the processor by hand; the application sells 100 at most. */
const MOST_PACKS = 1_000_000;

/** Undefined: it sells nothing that we know. */
export function readSubscription(remote: RemoteSubscription): Paid | undefined {
  const { id, customer, status, items, latest_invoice: latest } = remote;
  const item = itemOf(remote);
  const state = STATES[status];
  if (!item || !state) return undefined;
  const periodEnd = at(items?.data[0]?.current_period_end ?? remote.current_period_end);
  return {
    id,
    customer,
    identifier: remote.metadata?.['uniqueId'] || id,
    item,
    state,
    owing: OWING.has(status),
    givenUp: GIVEN_UP.has(status),
    inTrial: status === 'trialing',
    startedAt: new Date(remote.created * 1000),
    trialEndsAt: at(remote.trial_end),
    cancelAt: at(remote.cancel_at) ?? (remote.cancel_at_period_end ? periodEnd : null),
    periodEnd,
    invoice: latest && typeof latest === 'object' && latest.status === 'paid' ? readInvoice(latest) : null,
  };
}

/** Tells whether it has ended, whatever it was for: its metadata may say nothing that we know. */
export const isOver = ({ status }: Pick<RemoteSubscription, 'status'>): boolean => STATES[status] === 'over';

/** Tells whether it ended with a credit for the rest of its period: its last invoice is one. */
export const wasCredited = (remote: RemoteSubscription): boolean =>
  isOver(remote) && typeof remote.latest_invoice === 'object' && (remote.latest_invoice?.total ?? 0) < 0;

function itemOf({ metadata, items }: RemoteSubscription): Paid['item'] | undefined {
  const { addon, billing, period, pending, pendingFrom } = metadata ?? {};
  if (addon)
    return isDimension(addon)
      ? {
          kind: 'packs',
          dimension: addon,
          packs: Math.min(MOST_PACKS, Math.max(0, Math.trunc(items?.data[0]?.quantity ?? 0))),
        }
      : undefined;
  if (!billing || !isTier(billing) || !period || !isPeriod(period)) return undefined;
  const from = at(Number(pendingFrom) || null);
  return {
    kind: 'plan',
    tier: billing,
    period,
    pending: pending && isTier(pending) && from ? { tier: pending, from } : null,
  };
}

export const readInvoice = ({
  billing_reason,
  created,
}: Pick<RemoteInvoice, 'billing_reason' | 'created'>): PaidInvoice => ({
  // a trial that is finished early opens a period by an update
  cycle: billing_reason === 'subscription_cycle' || billing_reason === 'subscription_update',
  createdAt: new Date(created * 1000),
});

const rank = (tier: Tier): number => TIERS.indexOf(tier);
export const isLower = (tier: Tier, than: Tier): boolean => rank(tier) < rank(than);

/** The metadata of a plan at the processor; an empty text removes a key. */
export const planMetadata = (tier: Tier, period: Period, pending: { tier: Tier; from: Date } | null = null) => ({
  billing: tier,
  period,
  pending: pending?.tier ?? '',
  pendingFrom: pending ? String(Math.floor(pending.from.getTime() / 1000)) : '',
});

interface Current {
  tier: Tier;
  period: Period;
  pendingTier: Tier | null;
  periodEnd: Date;
}
interface Wanted {
  tier: Tier;
  period: Period;
}
export type Move = 'same' | 'now' | 'later' | 'withdraw' | 'pending' | 'impossible';
/**
 * What a wish for a plan means to a subscription that runs: more, or another period of the same plan, at once; less
 * from the next invoice on. An invoice has one period, so less with another period is two steps.
 */
export function moveTo({ tier, period, pendingTier }: Omit<Current, 'periodEnd'>, wanted: Wanted): Move {
  if (wanted.tier === tier && wanted.period === period) return pendingTier ? 'withdraw' : 'same';
  if (!isLower(wanted.tier, tier)) return 'now';
  if (wanted.period !== period) return 'impossible';
  return wanted.tier === pendingTier ? 'pending' : 'later';
}

/** The change at the processor for a move. */
export function changeFor(
  move: 'now' | 'later' | 'withdraw',
  current: Current,
  wanted: Wanted,
  offer: Offer,
): SubscriptionChange {
  const metadata =
    move === 'later'
      ? planMetadata(current.tier, current.period, { tier: wanted.tier, from: current.periodEnd })
      : planMetadata(wanted.tier, wanted.period);
  return { offer, when: move === 'now' ? 'now' : 'later', metadata };
}

const every = (period: Period): Offer['every'] => (period === 'YEARLY' ? 'year' : 'month');
const offer = (service: string, product: string, cents: number, period: Period): Offer => ({
  key: `${service}:${product}:${every(period)}:${cents}`.toLowerCase().replace(/ /g, '-'),
  product,
  cents,
  every: every(period),
});
export const planOffer = (service: string, { tier, period }: Wanted): Offer => {
  const { yearPrice, monthPrice } = PLANS[tier];
  return offer(service, `Plan ${tier}`, (period === 'YEARLY' ? yearPrice : monthPrice) * 100, period);
};
export const packOffer = (service: string, dimension: Dimension, priceCents: number): Offer =>
  offer(service, `Pack ${dimension}`, priceCents, 'MONTHLY');

/**
 * The effect that an event of an old state may have: nothing when a later one was applied; nothing but asking the
 * processor when we asked for a change near it.
 */
export type Reach = 'apply' | 'apply and ask' | 'ask' | 'ended';
/** An event that a change of ours made may be written so much after the answer to it. */
const NEAR_MS = 5_000;

export function reachOf(
  eventAt: Date,
  known: { lastEventAt: Date | null; changedAt: Date | null; endedAt: Date | null } | undefined,
): Reach {
  if (!known) return 'apply';
  if (known.endedAt) return 'ended';
  const last = known.lastEventAt?.getTime() ?? -Infinity;
  if (eventAt.getTime() < last) return 'ask';
  if (known.changedAt && eventAt.getTime() <= known.changedAt.getTime() + NEAR_MS) return 'ask';
  return eventAt.getTime() === last ? 'apply and ask' : 'apply'; // events of one second have no order
}

/** The tier and the pending one after what the processor says: it may not know yet that the lower plan has begun. */
export function tiersAfter(
  item: Extract<Paid['item'], { kind: 'plan' }>,
  row: { processorId: string | null; tier: Tier; pendingTier: Tier | null } | undefined,
  id: string,
): { tier: Tier; pending: { tier: Tier; from: Date } | null } {
  const { tier, pending } = item;
  if (pending && row?.processorId === id && row.tier === pending.tier && !row.pendingTier)
    return { tier: row.tier, pending: null };
  return { tier, pending };
}

/**
 * Tells whether a paid invoice starts the pending plan: one of a period after the wish, not a late word of the one that
 * still ran.
 */
export const startsPending = (invoice: PaidInvoice, pendingFrom: Date | null): boolean =>
  invoice.cycle && pendingFrom !== null && invoice.createdAt >= pendingFrom;
