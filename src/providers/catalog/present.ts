import type { FeaturedView } from './featured.ts';
import type { HealthView } from './service.ts';

/** A featured provider (S162, S224). */
export const presentFeatured = ({ domain, providerId, sortOrder, displayName, seeded }: FeaturedView) => ({
  domain,
  providerId,
  featuredSortOrder: sortOrder,
  displayName,
  seeded,
});

/** How a version does (PV8); one that was never called with zeros. */
export const presentHealth = ({ entry: { domain, providerId, version, status }, tally }: HealthView) => ({
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
