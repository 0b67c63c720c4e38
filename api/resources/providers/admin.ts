import { z } from 'zod';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { Featured, Health, presentFeatured, presentHealth } from './shape.ts';

const route = routesOf('providerCatalog');

const id = z.string().min(1).max(64);
const order = z.int().min(0).max(1_000_000);
const Filter = z.object({ domain: z.string().max(64).optional() });

export default [
  route({
    method: 'get',
    path: '/admin/providers/health',
    summary: 'List call statistics of provider versions',
    description: 'A version that was never called has zeros.',
    auth: ['super-admin'],
    query: Filter,
    answer: z.array(Health),
    handle: ({ rooms, query }) => rooms.providerCatalog.health(query.domain),
    present: (versions) => versions.map(presentHealth),
  }),

  route({
    method: 'get',
    path: '/admin/providers/featured',
    summary: 'List featured providers',
    description: 'Of one domain when given.',
    auth: ['super-admin'],
    query: Filter,
    answer: z.array(Featured),
    handle: ({ rooms, query }) => rooms.providerCatalog.featured.list(query.domain),
    present: (rows) => rows.map(presentFeatured),
  }),

  route({
    method: 'post',
    path: '/admin/providers/featured',
    summary: 'Feature a provider or move it',
    description: 'Without an order it comes last.',
    auth: ['super-admin'],
    creates: true,
    body: z.strictObject({
      domain: id,
      providerId: id,
      featuredSortOrder: order.optional(),
      sortOrder: order.optional(),
    }),
    answer: Featured,
    handle: (call) => {
      const { domain, providerId, sortOrder, featuredSortOrder = sortOrder } = call.body;
      return call.rooms.providerCatalog.featured.put(
        { domain, providerId, sortOrder: featuredSortOrder },
        auditActor(call),
      );
    },
    present: presentFeatured,
  }),

  route({
    method: 'delete',
    path: '/admin/providers/featured',
    summary: 'Remove a provider from the featured ones',
    description: 'One that is featured from the start returns with the next start.',
    auth: ['super-admin'],
    body: z.strictObject({ domain: id, providerId: id }),
    answer: z.strictObject({ success: z.literal(true) }),
    handle: (call) => call.rooms.providerCatalog.featured.remove(call.body, auditActor(call)),
    present: () => ({ success: true as const }),
  }),

  route({
    method: 'put',
    path: '/admin/providers/featured/reorder',
    summary: 'Reorder the featured providers of a domain',
    description: 'All places are set, or none.',
    auth: ['super-admin'],
    body: z.strictObject({
      domain: id,
      items: z.array(z.strictObject({ providerId: id, featuredSortOrder: order })).max(200),
    }),
    answer: z.array(Featured),
    handle: (call) => {
      const items = call.body.items.map(({ providerId, featuredSortOrder }) => ({
        providerId,
        sortOrder: featuredSortOrder,
      }));
      return call.rooms.providerCatalog.featured.reorder(call.body.domain, items, auditActor(call));
    },
    present: (rows) => rows.map(presentFeatured),
  }),
];
