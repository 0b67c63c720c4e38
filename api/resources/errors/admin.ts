import { z } from 'zod';
import { presentError } from '../../../src/operations/admin/index.ts';
import { instant } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('errors');

const ErrorRow = z.strictObject({
  id: z.string(),
  at: instant,
  /** The process that wrote it. */
  incarnation: z.string(),
  room: z.string(),
  message: z.string(),
  error: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
});

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
    answer: z.strictObject({ items: z.array(ErrorRow), nextCursor: z.string().nullable() }),
    handle: ({ rooms, query }) => rooms.errors.list(query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentError), nextCursor }),
  }),
];
