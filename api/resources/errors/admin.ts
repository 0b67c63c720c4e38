import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { InternalError, presentError } from './shape.ts';

const route = routesOf('errors');

export default [
  route({
    method: 'get',
    path: '/admin/errors',
    summary: 'List internal errors of all processes',
    description: 'Newest first.',
    auth: ['super-admin'],
    query: z.object({
      room: z.string().max(50).optional(),
      limit: z.coerce.number().int().min(1).max(100).default(50),
      cursor: z
        .string()
        .regex(/^\d{1,18}$/, 'take it from the page before')
        .optional(),
    }),
    answer: z.strictObject({ items: z.array(InternalError), nextCursor: z.string().nullable() }),
    handle: ({ rooms, query }) => rooms.errors.list(query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentError), nextCursor }),
  }),
];
