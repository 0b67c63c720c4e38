import type Stripe from 'stripe';
import type { z } from 'zod';
import { AppError } from '../../platform/kernel/index.ts';
import {
  CardRefused,
  type SubscriptionChange,
  type Charge,
  isOfPeriod,
  type Offer,
  type Processor,
  RemoteEvent,
  RemoteSubscription,
} from './processor.ts';

export interface StripeOptions {
  /**
   * Missing ones are an issue of the configuration; where the process runs all the same, calls and events are refused.
   */
  secretKey: string | undefined;
  signingKey: string | undefined;
  /** Own name in product ids, price keys and metadata. */
  serviceName: string;
  /** Another server than the processor's, for tests. */
  server?: string | undefined;
}

/** The version that the pinned SDK speaks. */
const API_VERSION = '2026-10-28.endive';
const TIMEOUT_MS = 15_000;
const RETRIES = 2;
const TOLERANCE_SECONDS = 300;
const MOST_CHARGES = 100;
/** Keys that are tried in turn for one creation. */
const MOST_KEYS = 4;
/** Cents of the card check; the smallest amount that issuers judge as they judge a purchase. */
const CHECK_CENTS = 100;

/** The processor of payments by its official SDK, which is loaded when billing is on and in this file only. */
export async function openStripe({ secretKey, signingKey, serviceName, server }: StripeOptions): Promise<Processor> {
  const { default: Sdk } = await import('stripe');
  const stripe = new Sdk(secretKey ?? 'missing', {
    apiVersion: API_VERSION,
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(server !== undefined && placeOf(new URL(server))),
  });
  const {
    StripeError,
    StripeCardError,
    StripeInvalidRequestError,
    StripeConnectionError,
    StripeAPIError,
    StripeRateLimitError,
    StripeIdempotencyError,
  } = Sdk.errors;
  const transient = [StripeConnectionError, StripeAPIError, StripeRateLimitError, StripeIdempotencyError];
  const prices = new Map<string, Promise<string>>();

  /** Every call: what the SDK throws becomes one of our errors, and the answer is judged. */
  async function ask<S extends z.ZodType>(schema: S, call: () => Promise<unknown>): Promise<z.output<S>>;
  async function ask<T>(schema: undefined, call: () => Promise<T>): Promise<T>;
  async function ask(schema: z.ZodType | undefined, call: () => Promise<unknown>): Promise<unknown> {
    try {
      const answer = await call();
      return schema ? schema.parse(answer) : answer;
    } catch (cause) {
      if (cause instanceof StripeCardError) throw new CardRefused(cause.message, { cause });
      if (transient.some((kind) => cause instanceof kind))
        throw new AppError(
          'unavailable',
          'The payment processor does not answer, try again shortly',
          { retryAfterMs: 5_000 },
          { cause },
        );
      throw new AppError('provider_failed', 'The payment processor refused the request', {}, { cause });
    }
  }
  const causeOf = (error: unknown): unknown => (error instanceof AppError ? error.cause : error);
  const isCode = (error: unknown, ...codes: string[]): boolean => {
    const cause = causeOf(error);
    return cause instanceof StripeInvalidRequestError && codes.includes(cause.code ?? '');
  };
  const unless =
    (...codes: string[]) =>
    (error: unknown): undefined => {
      if (!isCode(error, ...codes)) throw error;
    };

  /**
   * Creates under a key of ours. For a day the processor repeats its answer to a key, a failure of its own too, which
   * would keep an org from buying for so long: after one that was repeated the next key of the row is used, by every
   * process in the same order.
   */
  async function once<T>(key: string, create: (options: { idempotencyKey: string }) => Promise<T>): Promise<T> {
    for (let n = 1; ; n++)
      try {
        return await ask(undefined, () => create({ idempotencyKey: n === 1 ? key : `${key}:${n}` }));
      } catch (error) {
        if (n === MOST_KEYS || !isRepeatedFailure(error)) throw error;
      }
  }
  function isRepeatedFailure(error: unknown): boolean {
    const cause = causeOf(error);
    return (
      cause instanceof StripeError &&
      (cause.statusCode ?? 0) >= 500 &&
      cause.headers?.['idempotent-replayed'] === 'true'
    );
  }
  const isOtherRequest = (error: unknown): boolean => {
    const cause = causeOf(error);
    return cause instanceof StripeIdempotencyError && cause.statusCode === 400;
  };

  async function findPrice({ key }: Offer): Promise<string | undefined> {
    const { data } = await ask(undefined, () => stripe.prices.list({ lookup_keys: [key], active: true, limit: 1 }));
    return data[0]?.id;
  }
  async function makePrice(offer: Offer): Promise<string> {
    const product = `${serviceName}-${offer.product}`.toLowerCase().replace(/[^a-z0-9]+/g, '-');
    await ask(undefined, () => stripe.products.create({ id: product, name: offer.product })).catch(
      unless('resource_already_exists'),
    );
    const price = {
      currency: 'usd',
      unit_amount: offer.cents,
      recurring: { interval: offer.every },
      product,
      lookup_key: offer.key,
    };
    const made = await once(`price:${offer.key}`, (options) => stripe.prices.create(price, options)).catch(
      (error: unknown) =>
        causeOf(error) instanceof StripeInvalidRequestError ? undefined : Promise.reject(error as Error),
    );
    const id = made?.id ?? (await findPrice(offer)); // another process made it meanwhile
    if (id === undefined)
      throw new AppError('provider_failed', `The payment processor has no price ${offer.key} and makes none`);
    return id;
  }
  /** Found or made once for each process. */
  function priceOf(offer: Offer): Promise<string> {
    const known = prices.get(offer.key);
    if (known) return known;
    const found = findPrice(offer).then((id) => id ?? makePrice(offer));
    prices.set(offer.key, found);
    found.catch(() => prices.delete(offer.key));
    return found;
  }

  const read = (id: string) =>
    ask(RemoteSubscription, () => stripe.subscriptions.retrieve(id, { expand: ['latest_invoice'] }));
  const itemOf = ({ id, items }: RemoteSubscription): string => {
    const item = items?.data[0]?.id;
    if (item === undefined)
      throw new AppError('provider_failed', `The subscription ${id} has no item at the payment processor`);
    return item;
  };
  async function itemsOf(
    id: string,
    { offer, quantity }: SubscriptionChange,
  ): Promise<Stripe.SubscriptionUpdateParams.Item[]> {
    const price = offer && (await priceOf(offer));
    return [
      {
        id: itemOf(await read(id)),
        ...(price !== undefined && { price }),
        ...(quantity !== undefined && { quantity }),
      },
    ];
  }

  async function chargesOf(customer: string): Promise<Charge[]> {
    const [charges, invoices] = await Promise.all([
      ask(undefined, () => stripe.charges.list({ customer, limit: MOST_CHARGES })),
      ask(undefined, () => stripe.invoices.list({ customer, limit: MOST_CHARGES, expand: ['data.payments'] })),
    ]);
    const byPayment = new Map(
      invoices.data.flatMap((invoice) =>
        (invoice.payments?.data ?? []).flatMap(({ payment }) =>
          idOf(payment.payment_intent ?? payment.charge).map((id) => [id, invoice]),
        ),
      ),
    );
    return charges.data
      .filter(({ status, captured }) => status === 'succeeded' && captured) // a card check holds and lets go: nothing was taken
      .map((charge) => {
        const invoice = byPayment.get(idOf(charge.payment_intent)[0] ?? charge.id) ?? byPayment.get(charge.id);
        return {
          id: charge.id,
          amount: charge.amount,
          currency: charge.currency,
          created: charge.created,
          status: charge.status,
          refunded: charge.refunded,
          amountRefunded: charge.amount_refunded,
          description: charge.description,
          receiptUrl: charge.receipt_url,
          invoice: invoice?.id ?? null,
          invoicePdf: invoice?.invoice_pdf ?? null,
          subscription: idOf(invoice?.parent?.subscription_details?.subscription)[0] ?? null,
        };
      });
  }
  /**
   * Tells whether money of the period that runs went back already, by whomever: a credit for its rest would give it a
   * second time.
   */
  async function wasGivenBack(id: string): Promise<boolean> {
    const remote = await read(id).catch(unless('resource_missing'));
    if (!remote) return false;
    const charges = await chargesOf(remote.customer);
    return charges.some(
      (charge) => charge.subscription === id && charge.amountRefunded > 0 && isOfPeriod(charge, remote),
    );
  }

  return {
    verify(body, signature) {
      if (signingKey === undefined) return undefined;
      try {
        return RemoteEvent.parse(
          stripe.webhooks.constructEvent(Buffer.from(body), signature, signingKey, TOLERANCE_SECONDS),
        );
      } catch {
        return undefined;
      }
    },

    async createCustomer({ orgId, name, email }) {
      // A key stands for one request: what another member would ask for under it in other words comes after it.
      const { id } = await once(`customer:${orgId}`, (options) =>
        stripe.customers.create({ metadata: { service: serviceName, orgId } }, options),
      );
      await ask(undefined, () => stripe.customers.update(id, { name, ...(email !== undefined && { email }) }));
      return id;
    },

    async openCheckout({ key, customer, offer, quantity, trialDays, metadata, successUrl, cancelUrl }) {
      const price = await priceOf(offer);
      const page: Stripe.Checkout.SessionCreateParams = {
        mode: 'subscription',
        customer,
        client_reference_id: metadata['uniqueId'] ?? key,
        line_items: [{ price, quantity }],
        payment_method_collection: 'always',
        // Flexible: credited is what was debited, and not a lower price that only waits for the next invoice.
        subscription_data: {
          metadata,
          billing_mode: { type: 'flexible' },
          ...(trialDays !== undefined && { trial_period_days: trialDays }),
        },
        metadata,
        success_url: successUrl,
        cancel_url: cancelUrl,
      };
      const session = await once(key, (options) => stripe.checkout.sessions.create(page, options)).catch(
        (error: unknown) => {
          if (!isOtherRequest(error)) throw error;
          return undefined;
        },
      );
      if (!session) return undefined;
      if (!session.url) throw new AppError('provider_failed', 'The payment processor gave no address for the checkout');
      return { id: session.id, url: session.url };
    },

    async checkout(id) {
      const session = await ask(undefined, () => stripe.checkout.sessions.retrieve(id)).catch(
        unless('resource_missing'),
      );
      const state = session?.status === 'complete' ? 'complete' : session?.status === 'open' ? 'open' : 'expired';
      return { state, subscription: idOf(session?.subscription)[0] };
    },
    async expireCheckout(id) {
      await ask(undefined, () => stripe.checkout.sessions.expire(id)).catch((error: unknown) => {
        if (!(causeOf(error) instanceof StripeInvalidRequestError)) throw error; // it is complete or expired already
      });
    },

    subscription: (id) => read(id).catch(unless('resource_missing')),

    async change(id, change) {
      const { offer, quantity, when, metadata, endTrial, cancelAtPeriodEnd, coupon } = change;
      const items = offer || quantity !== undefined ? await itemsOf(id, change) : undefined;
      const updated = await ask(undefined, () =>
        stripe.subscriptions.update(id, {
          expand: ['latest_invoice'],
          ...(items && { items, proration_behavior: when === 'later' ? 'none' : 'always_invoice' }),
          ...(items && when !== 'later' && { payment_behavior: 'error_if_incomplete' }),
          ...(metadata && { metadata }),
          ...(endTrial && { trial_end: 'now' }),
          ...(cancelAtPeriodEnd !== undefined && { cancel_at_period_end: cancelAtPeriodEnd }),
          ...(coupon !== undefined && { discounts: [{ coupon }] }),
        }),
      );
      return {
        subscription: await ask(RemoteSubscription, async () => updated),
        at: timeOf(updated.lastResponse.headers['date']),
      };
    },

    async cancel(id, { refundRest = false } = {}) {
      const params = refundRest && !(await wasGivenBack(id)) ? { prorate: true, invoice_now: true } : {};
      await ask(undefined, () => stripe.subscriptions.cancel(id, params)).catch(async (error: unknown) => {
        if (!(causeOf(error) instanceof StripeInvalidRequestError)) throw error;
        const now = await read(id).catch(unless('resource_missing'));
        if (now && now.status !== 'canceled' && now.status !== 'incomplete_expired') throw error;
      });
    },

    async preview(id, offer) {
      const items = await itemsOf(id, { offer });
      const invoice = await ask(undefined, () =>
        stripe.invoices.createPreview({
          subscription: id,
          subscription_details: { items, proration_behavior: 'always_invoice' },
        }),
      );
      return invoice.amount_due;
    },

    async checkCard({ id, customer, default_payment_method: own }) {
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
        const hold = await once(`card-check:${id}:${method}`, (options) =>
          stripe.paymentIntents.create(check, options),
        );
        await ask(undefined, () => stripe.paymentIntents.cancel(hold.id)).catch(
          unless('payment_intent_unexpected_state'),
        ); // let go by an earlier delivery
        return hold.status === 'requires_capture';
      } catch (error) {
        if (error instanceof CardRefused) return false;
        throw error;
      }
    },

    charges: chargesOf,
    async charge(id) {
      const charge = await ask(undefined, () => stripe.charges.retrieve(id)).catch(unless('resource_missing'));
      return (
        charge && { customer: idOf(charge.customer)[0] ?? null, created: charge.created, refunded: charge.refunded }
      );
    },
    async refund(charge) {
      await once(`refund:${charge}`, (options) => stripe.refunds.create({ charge }, options));
    },
    async portal(customer, returnUrl) {
      return (await ask(undefined, () => stripe.billingPortal.sessions.create({ customer, return_url: returnUrl })))
        .url;
    },
  };
}

/** When the processor answered, by its own clock. */
function timeOf(header: string | undefined): Date {
  const at = new Date(header ?? '');
  if (Number.isNaN(at.getTime()))
    throw new AppError('provider_failed', 'The payment processor does not say what time it is');
  return at;
}
const idOf = (reference: string | { id: string } | null | undefined): string[] =>
  reference ? [typeof reference === 'string' ? reference : reference.id] : [];
const placeOf = ({ hostname, port, protocol }: URL) => ({
  host: hostname,
  port,
  protocol: protocol === 'http:' ? ('http' as const) : ('https' as const),
});
