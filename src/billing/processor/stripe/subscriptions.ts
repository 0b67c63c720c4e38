import type Stripe from 'stripe';
import { AppError } from '../../../platform/kernel/index.ts';
import { CardRefused, type Offer, RemoteSubscription, type SubscriptionChange } from '../processor.ts';
import { creditCharges, howToCredit } from './credits.ts';
import type { StripeDeps } from './deps.ts';
import { priceOf } from './prices.ts';

/** Cents of the card check; the smallest amount that issuers judge as they judge a purchase. */
const CHECK_CENTS = 100;

const read = ({ stripe, ask }: StripeDeps, id: string) =>
  ask(RemoteSubscription, () => stripe.subscriptions.retrieve(id, { expand: ['latest_invoice'] }));

const itemOf = ({ id, items }: RemoteSubscription): string => {
  const item = items?.data[0]?.id;
  if (item === undefined)
    throw new AppError('provider_failed', `The subscription ${id} has no item at the payment processor`);
  return item;
};

async function itemsOf(
  deps: StripeDeps,
  id: string,
  { offer, quantity }: SubscriptionChange,
): Promise<Stripe.SubscriptionUpdateParams.Item[]> {
  const price = offer && (await priceOf(deps, offer));
  return [
    {
      id: itemOf(await read(deps, id)),
      ...(price !== undefined && { price }),
      ...(quantity !== undefined && { quantity }),
    },
  ];
}

/** Finds a subscription with its latest invoice; undefined when the processor does not know it. */
export const subscription = (deps: StripeDeps, id: string): Promise<RemoteSubscription | undefined> =>
  read(deps, id).catch(deps.unless('resource_missing'));

/** Changes a subscription; answers how it stands then, and when that was by the processor's clock. */
export async function change(
  deps: StripeDeps,
  id: string,
  wanted: SubscriptionChange,
): Promise<{ subscription: RemoteSubscription; at: Date }> {
  const { stripe, ask, once } = deps;
  const { offer, quantity, when, metadata, endTrial, cancelAtPeriodEnd, coupon } = wanted;
  const items = offer || quantity !== undefined ? await itemsOf(deps, id, wanted) : undefined;
  const params: Stripe.SubscriptionUpdateParams = {
    expand: ['latest_invoice'],
    ...(items && { items, proration_behavior: when === 'later' ? 'none' : 'always_invoice' }),
    ...(items && when !== 'later' && { payment_behavior: 'error_if_incomplete' }),
    ...(metadata && { metadata }),
    ...(endTrial && { trial_end: 'now' }),
    ...(cancelAtPeriodEnd !== undefined && { cancel_at_period_end: cancelAtPeriodEnd }),
    ...(coupon !== undefined && { discounts: [{ coupon }] }),
  };
  // Each end of a trial begins a period and charges for it: two requests, or a repeated one, are one.
  const updated = endTrial
    ? await once(`trial-end:${id}:${metadata?.['pending'] ?? ''}`, (options) =>
        stripe.subscriptions.update(id, params, options),
      )
    : await ask(undefined, () => stripe.subscriptions.update(id, params));
  return {
    subscription: await ask(RemoteSubscription, async () => updated),
    at: timeOf(updated.lastResponse.headers['date']),
  };
}

/** When the processor answered, by its own clock. */
function timeOf(header: string | undefined): Date {
  const at = new Date(header ?? '');
  if (Number.isNaN(at.getTime()))
    throw new AppError('provider_failed', 'The payment processor does not say what time it is');
  return at;
}

/**
 * Ends a subscription now. `refundRest`: credits what was paid for the rest of the period; `isLate`: also where it has
 * ended before.
 */
export async function cancel(
  deps: StripeDeps,
  id: string,
  { refundRest = false, isLate = false }: { refundRest?: boolean; isLate?: boolean } = {},
): Promise<void> {
  const { stripe, ask, isRefused, unless } = deps;
  const find = () => subscription(deps, id);
  const way = refundRest ? await howToCredit(deps, await find(), isLate) : 'nothing';
  const params = way === 'prorate' ? { prorate: true, invoice_now: true } : {};
  await ask(undefined, () => stripe.subscriptions.cancel(id, params)).catch(async (error: unknown) => {
    if (!isRefused(error)) throw error;
    const now = await read(deps, id).catch(unless('resource_missing'));
    if (now && now.status !== 'canceled' && now.status !== 'incomplete_expired') throw error;
  });
  if (way === 'charges') await creditCharges(deps, await find());
}

/** Asks for the cents that are due at once when a subscription changes to an offer. */
export async function preview(deps: StripeDeps, id: string, offer: Offer): Promise<number> {
  const { stripe, ask } = deps;
  const items = await itemsOf(deps, id, { offer });
  const invoice = await ask(undefined, () =>
    stripe.invoices.createPreview({
      subscription: id,
      subscription_details: { items, proration_behavior: 'always_invoice' },
    }),
  );
  return invoice.amount_due;
}

/** Holds an amount on the card of a subscription and lets it go; false when the card is refused or there is none. */
export async function checkCard(
  { stripe, serviceName, ask, once, unless }: StripeDeps,
  { id, customer, default_payment_method: own }: RemoteSubscription,
): Promise<boolean> {
  const methods = own
    ? []
    : (await ask(undefined, () => stripe.customers.listPaymentMethods(customer, { limit: 1 }))).data;
  const method = own ?? methods[0]?.id;
  if (!method) return false;
  try {
    const check: Stripe.PaymentIntentCreateParams = {
      amount: CHECK_CENTS,
      currency: 'usd',
      customer,
      payment_method: method,
      automatic_payment_methods: { enabled: true, allow_redirects: 'never' }, // nobody is there to be sent anywhere
      capture_method: 'manual',
      confirm: true,
      off_session: true,
      description: 'Card check, released at once',
      metadata: { service: serviceName, subscription: id },
    };
    const hold = await once(`card-check:${id}:${method}`, (options) => stripe.paymentIntents.create(check, options));
    await ask(undefined, () => stripe.paymentIntents.cancel(hold.id)).catch(unless('payment_intent_unexpected_state')); // let go by an earlier delivery
    return hold.status === 'requires_capture';
  } catch (error) {
    if (error instanceof CardRefused) return false;
    throw error;
  }
}
