import { z } from 'zod';
import { EMAIL_STATUSES } from '../../../src/delivery/email/index.ts';
import { routesOf } from '../../http/route.ts';
import { Email, presentEmail } from './shape.ts';

const route = routesOf('email');

export default [
  route({
    method: 'get',
    path: '/admin/emails',
    summary: 'List mails of the instance',
    description: 'The mail log, newest first.',
    auth: ['super-admin'],
    query: z.object({
      status: z.enum(EMAIL_STATUSES).optional(),
      limit: z.coerce.number().int().min(1).max(100).default(50),
      cursor: z.string().optional(),
    }),
    answer: z.strictObject({ items: z.array(Email), nextCursor: z.string().nullable() }),
    handle: ({ rooms, query }) => rooms.email.list(query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentEmail), nextCursor }),
  }),
];
