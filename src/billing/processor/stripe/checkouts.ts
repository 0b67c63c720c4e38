import type Stripe from 'stripe';
import { AppError } from '../../../platform/kernel/index.ts';
import type { NewCheckout } from '../processor.ts';
import { idOf, type StripeDeps } from './deps.ts';
import { priceOf } from './prices.ts';

/** Makes the customer of an organization, once, and keeps its name and address current. */
export async function createCustomer(
  { stripe, serviceName, ask, once }: StripeDeps,
  { orgId, name, email }: { orgId: string; name: string; email: string | undefined },
): Promise<string> {
  // A key stands for one request: what another member would ask for under it in other words comes after it.
  const { id } = await once(`customer:${orgId}`, (options) =>
    stripe.customers.create({ metadata: { service: serviceName, orgId } }, options),
  );
  await ask(undefined, () => stripe.customers.update(id, { name, ...(email !== undefined && { email }) }));
  return id;
}

/** Opens a page on which a subscription is paid; undefined when its key stood for another page before. */
export async function openCheckout(
  deps: StripeDeps,
  { key, customer, offer, quantity, trialDays, metadata, successUrl, cancelUrl }: NewCheckout,
): Promise<{ id: string; url: string } | undefined> {
  const { stripe, once, isOtherRequest } = deps;
  const price = await priceOf(deps, offer);
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
}

/** Reads the state of a page and what was bought on it; one that the processor does not know has expired. */
export async function checkout(
  { stripe, ask, unless }: StripeDeps,
  id: string,
): Promise<{ state: 'open' | 'complete' | 'expired'; subscription: string | undefined }> {
  const session = await ask(undefined, () => stripe.checkout.sessions.retrieve(id)).catch(unless('resource_missing'));
  const state = session?.status === 'complete' ? 'complete' : session?.status === 'open' ? 'open' : 'expired';
  return { state, subscription: idOf(session?.subscription)[0] };
}

/** Closes a page. */
export async function expireCheckout({ stripe, ask, isRefused }: StripeDeps, id: string): Promise<void> {
  await ask(undefined, () => stripe.checkout.sessions.expire(id)).catch((error: unknown) => {
    if (!isRefused(error)) throw error; // it is complete or expired already
  });
}

/** Opens the page on which a customer sees invoices and changes the card; answers its address. */
export async function portal({ stripe, ask }: StripeDeps, customer: string, returnUrl: string): Promise<string> {
  return (await ask(undefined, () => stripe.billingPortal.sessions.create({ customer, return_url: returnUrl }))).url;
}
