import { z } from 'zod';
import { KINDS } from '../../../src/providers/registry/index.ts';
import { FoundItem } from '../../../src/library/stock/index.ts';
import { routesOf } from '../../http/route.ts';
import { warned } from './handlers.ts';
import { File, presentFile } from './shape.ts';

const route = routesOf('stock');

/** Words to search by, in one form. */
export const stockWords = z
  .string()
  .transform((text) =>
    text
      .normalize('NFC')
      .replace(/[\p{Cc}\s]+/gu, ' ')
      .trim(),
  )
  .pipe(z.string().min(1).max(200));

/** `/files/*` and `/media/*` are the same routes (S146). */
export const stockRoutes = (prefix: '/files' | '/media') => [
  route({
    method: 'get',
    path: `${prefix}/stock`,
    summary: 'Search stock media',
    description: 'Pictures and videos of stock sources.',
    auth: ['session'],
    permission: 'media:read',
    limit: '60/minute',
    query: z.object({
      source: z.string().max(64).optional(),
      q: stockWords,
      type: z.enum(KINDS).default('image'),
      page: z.coerce.number().int().min(1).max(1_000).default(1),
    }),
    answer: z.strictObject({ items: z.array(FoundItem), nextCursor: z.string().nullable() }),
    handle: ({ rooms, principal, query: { source, q, type, page } }) =>
      rooms.stock.search(principal.orgId, { source: source || undefined, q, kind: type, page }),
    present: (found) => found,
  }),
  route({
    method: 'post',
    path: `${prefix}/stock/import`,
    summary: 'Import a stock item into the library',
    description: 'Under its licence and with its attribution.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'media:create',
    planLimit: 'storage_gb',
    limit: '120/hour',
    idempotent: true,
    creates: true,
    body: z.strictObject({ source: z.string().min(1).max(64), id: z.string().min(1).max(200) }),
    answer: File,
    handle: async (call) =>
      warned(await call.rooms.stock.importItem(call.principal.orgId, call.principal.userId, call.body), call),
    present: presentFile,
  }),
];
