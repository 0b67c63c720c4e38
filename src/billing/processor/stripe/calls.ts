import type Stripe from 'stripe';
import type { z } from 'zod';
import { outsideLine } from '../../../platform/content/index.ts';
import { AppError } from '../../../platform/kernel/index.ts';
import { CardRefused } from '../processor.ts';

/** Keys that are tried in turn for one creation. */
const MOST_KEYS = 4;
/** Characters of what the processor says that people are told. */
const MOST_WORDS = 300;

export type Calls = ReturnType<typeof openCalls>;

const causeOf = (error: unknown): unknown => (error instanceof AppError ? error.cause : error);

/** Calls to the processor, whose failures become errors of ours; by the error classes of the SDK that was loaded. */
export function openCalls({
  StripeError,
  StripeCardError,
  StripeInvalidRequestError,
  StripeConnectionError,
  StripeAPIError,
  StripeRateLimitError,
  StripeIdempotencyError,
}: typeof Stripe.errors) {
  const transient = [StripeConnectionError, StripeAPIError, StripeRateLimitError, StripeIdempotencyError];

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

  /** Tells whether the processor refused the request as it was: with one of the codes, or with any if none is named. */
  function isRefused(error: unknown, ...codes: string[]): boolean {
    const cause = causeOf(error);
    return cause instanceof StripeInvalidRequestError && (codes.length === 0 || codes.includes(cause.code ?? ''));
  }
  /** Answers why the processor refused the request as it was; undefined where the same one may work later. */
  function refusalOf(error: unknown): string | undefined {
    return isRefused(error) ? outsideLine((causeOf(error) as Error).message, MOST_WORDS) : undefined;
  }
  const unless =
    (...codes: [string, ...string[]]) =>
    (error: unknown): undefined => {
      if (!isRefused(error, ...codes)) throw error;
    };

  function isRepeatedFailure(error: unknown): boolean {
    const cause = causeOf(error);
    return (
      cause instanceof StripeError &&
      (cause.statusCode ?? 0) >= 500 &&
      cause.headers?.['idempotent-replayed'] === 'true'
    );
  }
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
  /** Tells whether a key of ours stood for another request before. */
  function isOtherRequest(error: unknown): boolean {
    const cause = causeOf(error);
    return cause instanceof StripeIdempotencyError && cause.statusCode === 400;
  }

  return { ask, once, isRefused, refusalOf, isOtherRequest, unless };
}
