import { z } from 'zod';
import { routesOf } from '../../http/route.ts';

const route = routesOf('providerCatalog');

const CredentialField = z.strictObject({
  name: z.string(),
  label: z.string(),
  secret: z.boolean(),
  required: z.boolean(),
  help: z.string().nullable(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
});
const Entry = z.strictObject({
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
  capabilities: z.looseObject({ kind: z.enum(['direct', 'hub', 'action']).nullable(), operations: z.array(z.string()) }),
  deprecatedAt: z.string().nullable(),
  sunsetAt: z.string().nullable(),
  description: z.string(),
  website: z.string().nullable(),
  mediaCategories: z.array(z.string()),
  featured: z.boolean(),
  featuredSortOrder: z.int().nullable(),
});

export default [
  route({
    method: 'get',
    path: '/providers/catalog',
    summary: 'List registered providers',
    description: 'Of one domain when given; featured ones first, then by name.',
    auth: ['session'],
    query: z.object({ domain: z.string().max(64).optional() }),
    answer: z.array(Entry),
    handle: ({ rooms, query }) => rooms.providerCatalog.list(query.domain),
    present: (entries) => [...entries],
  }),
];
