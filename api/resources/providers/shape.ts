import { z } from 'zod';
import type { FeaturedView, HealthView } from '../../../src/providers/catalog/index.ts';

export const Health = z.strictObject({
  domain: z.string(),
  providerId: z.string(),
  version: z.string(),
  status: z.enum(['preview', 'active', 'deprecated', 'retired']),
  health: z.strictObject({
    successCount: z.int(),
    errorCount: z.int(),
    consecutiveErrors: z.int(),
    lastSuccessAt: z.string().nullable(),
    lastErrorAt: z.string().nullable(),
  }),
});

/** The call statistics of a version (PV8): zeros for one that was never called. */
export const presentHealth = ({ entry: { domain, providerId, version, status }, tally }: HealthView): z.input<typeof Health> => ({
  domain,
  providerId,
  version,
  status,
  health: {
    successCount: tally?.successCount ?? 0,
    errorCount: tally?.errorCount ?? 0,
    consecutiveErrors: tally?.consecutiveErrors ?? 0,
    lastSuccessAt: tally?.lastSuccessAt?.toISOString() ?? null,
    lastErrorAt: tally?.lastErrorAt?.toISOString() ?? null,
  },
});

export const Featured = z.strictObject({
  domain: z.string(),
  providerId: z.string(),
  featuredSortOrder: z.int(),
  displayName: z.string(),
  seeded: z.boolean(),
});

/** A featured provider (S162, S224). */
export const presentFeatured = ({ domain, providerId, sortOrder, displayName, seeded }: FeaturedView): z.input<typeof Featured> => ({
  domain,
  providerId,
  featuredSortOrder: sortOrder,
  displayName,
  seeded,
});
