import { AppError, ProviderError, type ProviderFailure } from '../../platform/kernel/index.ts';
import { BudgetRefusal } from '../budget/index.ts';

/** Failures that cost nothing and say nothing of the content: another provider may do it. */
const PASSED_ON: ReadonlySet<ProviderFailure> = new Set(['unavailable', 'rate_limited', 'exhausted', 'reauthorize']);

/** A failure of a provider for whoever asked: 502 with its id. What was sent stays out of the log, so no cause goes along. */
export const providerFailureOf = (error: unknown, { id, title }: { id: string; title: string }): unknown =>
  error instanceof ProviderError
    ? new AppError('provider_failed', error.message || `${title} failed`, {
        failure: error.failure,
        provider: id,
        ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
      })
    : error;

/**
 * Runs the attempt with one candidate after another, until one succeeds or fails in a way that is final: for its content
 * (`rejected`), or for a call that may have been paid for (`lost`). One that the budget refuses is unable, too, unless it
 * is the first: its refusal is final. When all are unable, the failure of the first is thrown.
 */
export async function firstAnswer<C extends { adapter: { id: string; title: string } }, T>(
  candidates: readonly C[],
  attempt: (candidate: C) => Promise<T>,
): Promise<T> {
  const failures: unknown[] = [];
  for (const candidate of candidates) {
    try {
      return await attempt(candidate);
    } catch (error) {
      const failure = providerFailureOf(error, candidate.adapter);
      const isUnable =
        error instanceof ProviderError
          ? PASSED_ON.has(error.failure)
          : error instanceof BudgetRefusal && failures.length > 0;
      if (!isUnable) throw failure;
      failures.push(failure);
    }
  }
  throw failures[0];
}
