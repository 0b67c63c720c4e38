import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { type FailureByCode, FailureWord } from '../kit/declare/failures.ts';

/** A failure that no code tells: by the status of a refusal, and words of its sentence. */
export type FailureBySentence = readonly [status: number, words: RegExp, failure: ProviderFailure];

/** The words of OpenAI for failures that the status does not tell. */
const CODES = {
  insufficient_quota: 'exhausted',
  billing_hard_limit_reached: 'exhausted',
  billing_not_active: 'exhausted',
  insufficient_balance: 'exhausted',
  invalid_api_key: 'reauthorize',
  rate_limit_exceeded: 'rate_limited',
  content_filter: 'rejected',
  content_policy_violation: 'rejected',
  moderation_blocked: 'rejected',
  server_error: 'unavailable',
  overloaded_error: 'unavailable',
} as const satisfies FailureByCode;

/** A code of an error, which may be a number. */
const Code = z.union([z.string(), z.number()]).transform(String).nullish().catch(undefined);
const Text = z.string().nullish().catch(undefined);
/** An error, or its sentence alone. */
const Inner = z.union([
  z.string().transform((message) => ({ message, code: undefined, type: undefined })),
  z.object({ message: Text, code: Code, type: Code }),
]);
const Refused = z.object({
  status: z.number().optional().catch(undefined),
  error: Inner.nullish().catch(undefined),
  message: Text,
  code: Code,
  type: Code,
});

/** Reads the failure from `error`, or from those fields at the top: by its sentence, else by `code` or `type`. */
export function openaiError(
  codes: FailureByCode = {},
  sentences: readonly FailureBySentence[] = [],
): z.ZodType<ProviderFailure> {
  const words: FailureByCode = { ...CODES, ...codes };
  return Refused.transform(({ status, error, message, code, type }): string | undefined => {
    const sentence = error?.message ?? message ?? '';
    const told = sentences.find(([of, pattern]) => of === status && pattern.test(sentence));
    return told?.[2] ?? [error?.code, error?.type, code, type].flatMap((word) => words[word ?? ''] ?? [])[0];
  }).pipe(FailureWord);
}
