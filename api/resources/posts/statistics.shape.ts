import { z } from 'zod';
import type { Counted } from '../../../src/publishing/shortlinks/index.ts';

export const Statistics = z.strictObject({ clicks: z.array(z.strictObject({ short: z.string(), original: z.string(), clicks: z.int().nullable() })) });

/** The statistics of a post (S119): what its links were followed. Null where the provider does not tell. */
export const presentStatistics = (links: readonly Counted[]): z.input<typeof Statistics> => ({
  clicks: links.map(({ shortUrl, url, clicks }) => ({ short: shortUrl, original: url, clicks })),
});
