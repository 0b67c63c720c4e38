import { AppError } from '../../../platform/kernel/index.ts';
import type { Offer } from '../processor.ts';
import type { StripeDeps } from './deps.ts';

async function findPrice({ stripe, ask }: StripeDeps, { key }: Offer): Promise<string | undefined> {
  const { data } = await ask(undefined, () => stripe.prices.list({ lookup_keys: [key], active: true, limit: 1 }));
  return data[0]?.id;
}

async function makePrice(deps: StripeDeps, offer: Offer): Promise<string> {
  const { stripe, serviceName, ask, once, isRefused, unless } = deps;
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
    (error: unknown) => (isRefused(error) ? undefined : Promise.reject(error as Error)),
  );
  const id = made?.id ?? (await findPrice(deps, offer)); // another process made it meanwhile
  if (id === undefined)
    throw new AppError('provider_failed', `The payment processor has no price ${offer.key} and makes none`);
  return id;
}

/** Finds the price of an offer, or makes it; once for each process. */
export function priceOf(deps: StripeDeps, offer: Offer): Promise<string> {
  const { prices } = deps;
  const known = prices.get(offer.key);
  if (known) return known;
  const found = findPrice(deps, offer).then((id) => id ?? makePrice(deps, offer));
  prices.set(offer.key, found);
  found.catch(() => prices.delete(offer.key));
  return found;
}
