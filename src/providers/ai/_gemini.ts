import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { type FailureByCode, FailureWord } from '../kit/declare/failures.ts';
import { geminiModels } from '../kit/protocols/language-models.ts';
import { callsOf } from './_calls.ts';
import type { AiCalls, AiLine } from './_contract.ts';
import { chatModel } from './_models.ts';

export const gemini = (id: string, context?: number) => chatModel(id, context, 'vision', 'tools', 'object');

const STATUSES: FailureByCode = {
  UNAUTHENTICATED: 'reauthorize',
  PERMISSION_DENIED: 'reauthorize',
  RESOURCE_EXHAUSTED: 'rate_limited',
  INTERNAL: 'unavailable',
  UNAVAILABLE: 'unavailable',
  DEADLINE_EXCEEDED: 'lost',
  INVALID_ARGUMENT: 'rejected',
  FAILED_PRECONDITION: 'rejected',
  NOT_FOUND: 'rejected',
};
const Word = z.string().nullish().catch(undefined);
const Detail = z.object({
  reason: Word,
  violations: z
    .array(z.object({ quotaId: Word }))
    .nullish()
    .catch(undefined),
});

/**
 * Reads the failure of Google's errors. A wrong key is an invalid argument with a reason, and a quota of a day or of
 * the billing has the status of a rate. `unpaid`: the status of a project without billing.
 */
export const googleError = (unpaid?: string): z.ZodType<ProviderFailure> =>
  z
    .object({ error: z.object({ status: z.string(), details: z.array(Detail).nullish().catch(undefined) }) })
    .transform(({ error: { status, details } }) => {
      const all = details ?? [];
      if (all.some(({ reason }) => reason === 'API_KEY_INVALID')) return 'reauthorize';
      const quotas = all.flatMap(({ violations }) => violations ?? []).map(({ quotaId }) => quotaId ?? '');
      if (status === unpaid || quotas.some((quota) => /PerDay|Billing/.test(quota))) return 'exhausted';
      return STATUSES[status];
    })
    .pipe(FailureWord);

/** Makes the calls of Gemini models at an address; `headers` of each call beside the declared ones. */
export const geminiCalls = (
  line: AiLine,
  { title, base, headers }: { title: string; base: string; headers?: () => Promise<Record<string, string>> },
): AiCalls =>
  callsOf(line, {
    title,
    objects: () => 'schema',
    open: (send) =>
      geminiModels({
        base,
        fetch: headers
          ? async (input, init) =>
              send(input, {
                ...init,
                headers: { ...Object.fromEntries(new Headers(init?.headers)), ...(await headers()) },
              })
          : send,
      }),
  });
