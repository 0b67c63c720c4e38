import { z } from 'zod';
import { FoundItem } from '../../../src/library/stock/index.ts';
import { stockWords } from '../../resources/files/stock.handlers.ts';
import { toolsOf } from '../tool.ts';

export const searchStockTool = toolsOf('stock')({
  name: 'search_stock',
  title: 'Search stock pictures',
  description: 'Searches pictures of stock sources. `url` of an item is taken into the library by `upload_from_url`.',
  surfaces: ['media-mcp'],
  scope: 'mcp:read',
  permission: 'media:read',
  input: z.strictObject({
    q: stockWords.describe('What the picture shows.'),
    source: z.string().max(64).optional().describe('Only this source.'),
    page: z.int().min(1).max(1_000).optional().describe('The page, from 1.'),
  }),
  output: z.strictObject({
    items: z.array(FoundItem),
    nextCursor: z.string().nullable().describe('The number of the next `page`; null at the end.'),
  }),
  nextBy: 'page',
  untrusted: ['/items/*/author', '/items/*/licence'],
  run: async ({ rooms, principal, input: { source, q, page = 1 } }) =>
    rooms.stock.search(principal.orgId, { source: source || undefined, q, kind: 'image', page }),
});
