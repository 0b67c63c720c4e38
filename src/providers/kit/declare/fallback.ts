import { ProviderError, type ProviderFailure } from '../../../platform/kernel/index.ts';

/** Runs `second` when `first` fails with this failure. */
export async function whenFailed<T>(
  failure: ProviderFailure,
  first: () => Promise<T>,
  second: () => Promise<T>,
): Promise<T> {
  try {
    return await first();
  } catch (error) {
    if (error instanceof ProviderError && error.failure === failure) return second();
    throw error;
  }
}

/** Undoes what was noted before a call, when its failure says that the call made nothing. */
export async function unlessMade<T>(call: () => Promise<T>, undo: () => Promise<void>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ProviderError && error.failure !== 'lost') await undo();
    throw error;
  }
}

/** Makes the error of a refusal that only the adapter can see. `retryAfterMs` where the network named a time. */
export const refused = (failure: ProviderFailure, message: string, retryAfterMs?: number): ProviderError =>
  new ProviderError(failure, message, { retryAfterMs });

/** Makes the error of a refusal of content that is at the provider already. */
export const refusedRepeat = (message: string): ProviderError =>
  new ProviderError('rejected', message, { reason: 'duplicate' });
