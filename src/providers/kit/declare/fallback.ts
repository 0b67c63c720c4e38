import { ProviderError, type ProviderFailure } from '../../../platform/kernel/index.ts';

/** The second way, when the first one ended with this failure. */
export async function whenFailed<T>(failure: ProviderFailure, first: () => Promise<T>, second: () => Promise<T>): Promise<T> {
  try {
    return await first();
  } catch (error) {
    if (error instanceof ProviderError && error.failure === failure) return second();
    throw error;
  }
}

/** A refusal that only the adapter can see. `retryAfterMs` where the network named a time. */
export const refused = (failure: ProviderFailure, message: string, retryAfterMs?: number): ProviderError =>
  new ProviderError(failure, message, { retryAfterMs });
