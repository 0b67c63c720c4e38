import { z } from 'zod';
import { EMAIL_STATUSES, presentEmail } from '../../../src/delivery/email/index.ts';
import { instant } from '../../http/fields.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('email');

const Email = z.strictObject({
  id: z.string(),
  orgId: z.string().nullable(),
  to: z.string(),
  template: z.string(),
  status: z.enum(EMAIL_STATUSES),
  providerId: z.string(),
  providerVersion: z.string(),
  providerMessageId: z.string().nullable(),
  attempts: z.int(),
  nextAttemptAt: instant.nullable(),
  lastError: z.string().nullable(),
  createdAt: instant,
  sentAt: instant.nullable(),
});

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
