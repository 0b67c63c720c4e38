import { bind } from '../../../platform/kernel/index.ts';
import { type Processor, RemoteEvent } from '../processor.ts';
import { openCalls } from './calls.ts';
import * as charges from './charges.ts';
import * as checkouts from './checkouts.ts';
import type { StripeDeps } from './deps.ts';
import * as subscriptions from './subscriptions.ts';

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

/** The processor of payments by its official SDK, which is loaded when billing is on and in this folder only. */
export async function openStripe({ secretKey, signingKey, serviceName, server }: StripeOptions): Promise<Processor> {
  const { default: Sdk } = await import('stripe');
  const stripe = new Sdk(secretKey ?? 'missing', {
    apiVersion: API_VERSION,
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    ...(server !== undefined && placeOf(new URL(server))),
  });
  const deps: StripeDeps = { stripe, signingKey, serviceName, prices: new Map(), ...openCalls(Sdk.errors) };
  return { ...bind(deps, checkouts), ...bind(deps, subscriptions), ...bind(deps, charges), ...bind(deps, { verify }) };
}

/** The event in a signed body; undefined when the signature is wrong or too old. */
function verify({ stripe, signingKey }: StripeDeps, body: Uint8Array, signature: string): RemoteEvent | undefined {
  if (signingKey === undefined) return undefined;
  try {
    return RemoteEvent.parse(
      stripe.webhooks.constructEvent(Buffer.from(body), signature, signingKey, TOLERANCE_SECONDS),
    );
  } catch {
    return undefined;
  }
}

const placeOf = ({ hostname, port, protocol }: URL) => ({
  host: hostname,
  port,
  protocol: protocol === 'http:' ? ('http' as const) : ('https' as const),
});
