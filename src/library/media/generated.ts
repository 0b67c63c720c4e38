import { z } from 'zod';

/**
 * How a file was made: `provider` and `version` as of the registry (`media/runway`, `v1`), the cost in millionths of a
 * dollar where it is known, and under whose terms it may be used.
 */
export const Generated = z.strictObject({
  provider: z.string(),
  version: z.string(),
  operation: z.string(),
  model: z.string().nullable(),
  prompt: z.string().nullable(),
  costMicros: z.number().nullable(),
  licence: z.string(),
  licenceUrl: z.string().nullable(),
});
export type Generated = z.output<typeof Generated>;
