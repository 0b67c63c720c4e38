import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { CatalogEntry } from './shape.ts';

const route = routesOf('providerCatalog');

export default [
  route({
    method: 'get',
    path: '/providers/catalog',
    summary: 'List registered providers',
    description: 'Of one domain when given; featured ones first, then by name.',
    auth: ['session'],
    query: z.object({ domain: z.string().max(64).optional() }),
    answer: z.array(CatalogEntry),
    handle: ({ rooms, query }) => rooms.providerCatalog.list(query.domain),
    present: (entries) => [...entries],
  }),
];
