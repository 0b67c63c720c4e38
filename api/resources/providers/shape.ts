import { z } from 'zod';
import type { FeaturedView, HealthView } from '../../../src/providers/catalog/index.ts';

const CredentialField = z.strictObject({
  name: z.string(),
  label: z.string(),
  secret: z.boolean(),
  required: z.boolean(),
  help: z.string().nullable(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
});
/** The form of a `CatalogEntry` of the registry. */
export const CatalogEntry = z.strictObject({
  domain: z.string(),
  providerId: z.string(),
  version: z.string(),
  displayName: z.string(),
  status: z.enum(['preview', 'active', 'deprecated', 'retired']),
  verified: z.boolean(),
  authType: z.string(),
  defaultDomain: z.string().nullable(),
  setupNotes: z.string().nullable(),
  credentialFields: z.array(CredentialField),
  capabilities: z.looseObject({
    kind: z.enum(['direct', 'hub', 'action']).nullable(),
    operations: z.array(z.string()),
  }),
  deprecatedAt: z.string().nullable(),
  sunsetAt: z.string().nullable(),
  description: z.string(),
  website: z.string().nullable(),
  mediaCategories: z.array(z.string()),
  featured: z.boolean(),
  featuredSortOrder: z.int().nullable(),
});

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
export const presentHealth = ({
  entry: { domain, providerId, version, status },
  tally,
}: HealthView): z.input<typeof Health> => ({
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
export const presentFeatured = ({
  domain,
  providerId,
  sortOrder,
  displayName,
  seeded,
}: FeaturedView): z.input<typeof Featured> => ({
  domain,
  providerId,
  featuredSortOrder: sortOrder,
  displayName,
  seeded,
});
