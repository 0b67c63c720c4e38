import type Stripe from 'stripe';
import type { Calls } from './calls.ts';

/** What the calls to the processor are handed. */
export interface StripeDeps extends Calls {
  stripe: Stripe;
  /** Checks the signatures of events; without it none is taken. */
  signingKey: string | undefined;
  /** Own name in product ids, price keys and metadata. */
  serviceName: string;
  /** Ids of prices by their keys, asked for once in each process. */
  prices: Map<string, Promise<string>>;
}

/** The id of what an answer names by its id or holds whole; none where it names nothing. */
export const idOf = (reference: string | { id: string } | null | undefined): string[] =>
  reference ? [typeof reference === 'string' ? reference : reference.id] : [];
