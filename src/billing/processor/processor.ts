import { z } from 'zod';
import { AppError } from '../../platform/kernel/index.ts';

// What is read from the processor is written down: a text with NUL, or a time that no date has, would fail there.
const text = z.string().refine((one) => !one.includes('\0'), 'has a NUL');
/** Seconds since 1970, up to the year 9999. */
const seconds = z
  .number()
  .min(0)
  .max(Date.UTC(9999, 11, 31) / 1_000);
const idOf = z.union([text, z.object({ id: text }).transform(({ id }) => id)]);

/** A subscription at the processor, as far as we look at it. What is not in the answer is as good as null. */
export const RemoteSubscription = z.object({
  id: text,
  object: z.literal('subscription'),
  customer: idOf,
  status: z.string(),
  created: seconds,
  metadata: z.record(z.string(), text).nullish(),
  cancel_at: seconds.nullish(),
  cancel_at_period_end: z.boolean().nullish(),
  trial_end: seconds.nullish(),
  billing_cycle_anchor: seconds.nullish(),
  current_period_start: seconds.nullish(), // by older versions of the interface here, by newer ones at the item
  current_period_end: seconds.nullish(),
  ended_at: seconds.nullish(),
  default_payment_method: idOf.nullish(),
  discounts: z.array(z.unknown()).nullish(),
  latest_invoice: z
    .union([
      z.string(),
      z.object({
        status: z.string().nullish(),
        billing_reason: z.string().nullish(),
        created: seconds,
        total: z.number().nullish(),
      }),
    ])
    .nullish(),
  items: z
    .object({
      data: z.array(
        z.object({
          id: z.string(),
          quantity: z.number().nullish(),
          current_period_start: seconds.nullish(),
          current_period_end: seconds.nullish(),
          price: z.object({ id: z.string() }).nullish(),
        }),
      ),
    })
    .nullish(),
});
export type RemoteSubscription = z.output<typeof RemoteSubscription>;

const SubscriptionDetails = z.object({
  subscription: idOf.nullish(),
  metadata: z.record(z.string(), text).nullish(),
});
/** An invoice in an event; newer versions of the interface name the subscription under `parent`. */
export const RemoteInvoice = z.object({
  object: z.literal('invoice'),
  billing_reason: z.string().nullish(),
  created: seconds,
  subscription: idOf.nullish(),
  subscription_details: SubscriptionDetails.nullish(),
  parent: z.object({ subscription_details: SubscriptionDetails.nullish() }).nullish(),
});
export type RemoteInvoice = z.output<typeof RemoteInvoice>;

/** A verified event. `created` in seconds of the processor's clock. */
export const RemoteEvent = z.object({
  id: text.min(1).max(255),
  type: text.max(255),
  created: seconds.int(),
  data: z.object({ object: z.looseObject({ metadata: z.record(z.string(), z.unknown()).nullish() }) }),
});
export type RemoteEvent = z.output<typeof RemoteEvent>;

/**
 * A product: a price that is made in the processor when it is first needed, and found by its key from then on (BI56).
 */
export interface Offer {
  /** Names product and price; another amount is another key, so that who bought before keeps the old price (AD10). */
  key: string;
  product: string;
  cents: number;
  every: 'month' | 'year';
}

export interface Charge {
  id: string;
  /** Cents. */
  amount: number;
  currency: string;
  /** Epoch seconds. */
  created: number;
  status: string;
  refunded: boolean;
  amountRefunded: number;
  /** The bank of the customer has taken the money back, or is about to. */
  disputed: boolean;
  /** A credit note gave back some of what its invoice took. */
  credited: boolean;
  description: string | null;
  receiptUrl: string | null;
  invoice: string | null;
  invoicePdf: string | null;
  /** The subscription that it pays for; null where that is not said. */
  subscription: string | null;
  /** Epoch seconds of its invoice: what it pays for runs from then to the end of the period. */
  paysFrom: number;
}

export interface NewCheckout {
  /** Ours: under it the processor makes one checkout however often it is asked. */
  key: string;
  customer: string;
  offer: Offer;
  quantity: number;
  trialDays?: number | undefined;
  metadata: Record<string, string>;
  successUrl: string;
  cancelUrl: string;
}
export interface SubscriptionChange {
  offer?: Offer;
  quantity?: number;
  /** `now`: settled with an invoice at once; `later`: from the next invoice on. */
  when?: 'now' | 'later';
  metadata?: Record<string, string>;
  endTrial?: true;
  cancelAtPeriodEnd?: boolean;
  coupon?: string;
}

/** The payment processor. Calls that create take a key of ours, so that a repeated one does nothing twice. */
export interface Processor {
  /** The event in a signed body; undefined when the signature is wrong or older than 300 s. */
  verify(body: Uint8Array, signature: string): RemoteEvent | undefined;
  createCustomer(customer: { orgId: string; name: string; email: string | undefined }): Promise<string>;
  /** Undefined when the key stood for another page before. */
  openCheckout(checkout: NewCheckout): Promise<{ id: string; url: string } | undefined>;
  /** The state of a checkout page, and the subscription that was bought on it. */
  checkout(id: string): Promise<{ state: 'open' | 'complete' | 'expired'; subscription: string | undefined }>;
  expireCheckout(id: string): Promise<void>;
  /** Undefined when the processor does not know it. The latest invoice is in it. */
  subscription(id: string): Promise<RemoteSubscription | undefined>;
  /**
   * The subscription after the change, and when that was by the processor's clock. Throws `CardRefused` when an invoice
   * is due at once and cannot be paid; nothing is changed then.
   */
  change(id: string, change: SubscriptionChange): Promise<{ subscription: RemoteSubscription; at: Date }>;
  /**
   * Ends it now; one that has ended already is left as it is. `refundRest`: credits what was paid for the rest of the
   * period, but nothing that is owed, and no charge that went back or is disputed. `isLate`: the credit waited for a
   * refund, so that one that has ended already is credited too.
   */
  cancel(id: string, options?: { refundRest?: boolean; isLate?: boolean }): Promise<void>;
  /** Cents due at once for a change. */
  preview(id: string, offer: Offer): Promise<number>;
  /** Holds 1 USD on the card of a subscription and lets it go; false when the card is refused or there is none. */
  checkCard(subscription: RemoteSubscription): Promise<boolean>;
  charges(customer: string): Promise<Charge[]>;
  charge(id: string): Promise<{ customer: string | null; created: number; refunded: boolean } | undefined>;
  /** Gives a charge back; answers the processor's words where it refuses that for good. */
  refund(charge: string): Promise<string | undefined>;
  portal(customer: string, returnUrl: string): Promise<string>;
}

/**
 * Tells whether a call failed because the processor does not answer, after every repeat: the next call would wait as
 * long.
 */
export const isAway = (error: unknown): boolean => error instanceof AppError && error.code === 'unavailable';

export class CardRefused extends Error {
  override readonly name = 'CardRefused';
}

/**
 * Tells whether the period that a charge paid for was cut short: another interval of the plan begins a period at once,
 * and what was left of the one before is credited to it.
 */
export const wasCutShort = (
  { created }: { created: number },
  { billing_cycle_anchor: anchor }: RemoteSubscription,
): boolean => created < (anchor ?? 0);

/** Tells whether a charge is of the period that runs, or ran last. */
export function isOfPeriod(
  { created }: { created: number },
  { items, current_period_start: older }: RemoteSubscription,
): boolean {
  return created >= (items?.data[0]?.current_period_start ?? older ?? 0);
}
