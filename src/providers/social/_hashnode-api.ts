import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { failureAt } from './_failures.ts';

/** Codes of errors. INTERNAL_SERVER_ERROR says nothing about what was done. */
const CODES: Readonly<Record<string, ProviderFailure>> = {
  UNAUTHENTICATED: 'reauthorize',
  FORBIDDEN: 'rejected',
  BAD_USER_INPUT: 'rejected',
  INTERNAL_SERVER_ERROR: 'lost',
};
export const failure = z.union([
  failureAt('errors.0.extensions.code', CODES),
  // a query for what is gone has data, which is null there
  z
    .object({ data: z.null().optional(), errors: failureAt('0.extensions.code', { NOT_FOUND: 'rejected' }) })
    .transform(({ errors }) => errors),
]);

export const TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/avif'];

/** The answer to a query with these fields. */
export const data = <S extends z.ZodRawShape>(fields: S) => z.object({ data: z.object(fields) });
export const edges = <S extends z.ZodType>(node: S) => z.object({ edges: z.array(z.object({ node })) });
export const asks = (query: string, variables: Readonly<Record<string, unknown>> = {}) => ({
  json: { query, variables },
});
