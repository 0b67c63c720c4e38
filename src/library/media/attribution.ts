import { z } from 'zod';

/**
 * Where a stock file comes from. `provider` and `version` are those of the source (`contentpack/unsplash`, `v1`);
 * `credit` is the line to show beside it.
 */
export const Attribution = z.strictObject({
  provider: z.string(),
  version: z.string(),
  itemId: z.string(),
  title: z.string(),
  author: z.string().nullable(),
  authorUrl: z.string().nullable(),
  url: z.string().nullable(),
  licence: z.string(),
  licenceUrl: z.string().nullable(),
  credit: z.string().nullable(),
});
export type Attribution = z.output<typeof Attribution>;
