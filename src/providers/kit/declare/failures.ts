import { z } from 'zod';
import { PROVIDER_FAILURES, type ProviderFailure, type ProviderReason } from '../../../platform/kernel/index.ts';

/** A failure by its word, as the end of an `errorOf`. */
export const FailureWord = z.enum(PROVIDER_FAILURES);
/** Failures by the codes of a provider. */
export type FailureByCode = Readonly<Record<string | number, ProviderFailure>>;

/** Answers the failure of a status for which the adapter declares none; `creates` as in `Call`. */
export function failureOfStatus(status: number, creates: boolean): ProviderFailure {
  if (status === 401) return 'reauthorize';
  if (status === 402) return 'exhausted';
  if (status === 429) return 'rate_limited';
  if (status === 408 || status >= 500) return creates ? 'lost' : 'unavailable';
  return 'rejected';
}

/** Answers the reason of the failure that an answer tells; `refusal`: that of a rejection, where its body says it. */
export function failureReason(
  failure: ProviderFailure,
  { status, refusal }: { status: number; refusal: ProviderReason | undefined },
): ProviderReason | undefined {
  if (failure === 'rejected') return refusal;
  return status >= 500 && (failure === 'unavailable' || failure === 'lost') ? 'server' : undefined;
}
