import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { failureAt } from './_failures.ts';

/** Failures by type of problem, where the status does not tell them or is 200. */
const PROBLEMS: Readonly<Record<string, ProviderFailure>> = {
  'usage-capped': 'exhausted',
  'unsupported-authentication': 'reauthorize',
  'rate-limit-exceeded': 'rate_limited',
  'invalid-request': 'rejected',
  'client-forbidden': 'rejected',
  'disallowed-resource': 'rejected',
};
export const Problem = failureAt('type', PROBLEMS, { by: (type) => type.split('/').at(-1)! });

/** A text that was posted before has no type of problem of its own. */
export const ProblemOfRepeat = z.object({ detail: z.string().regex(/duplicate content/i) });

/** An answer with nothing but errors; what is not there is an answer, too. */
export const ProblemInside: z.ZodType<ProviderFailure> = z
  .object({ data: z.undefined().optional(), errors: z.tuple([Problem]).rest(z.unknown()) })
  .transform(({ errors }) => errors[0]);
