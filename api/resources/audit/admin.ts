import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { auditFile, auditPage, AuditQuery } from './handlers.ts';
import { AuditEntryOfInstance, presentAuditOfInstance } from './shape.ts';

const route = routesOf('audit');

export default [
  route({
    method: 'get',
    path: '/admin/audit',
    summary: 'List audit entries of all organizations',
    description: 'Those of the instance itself too, newest first; as a file with `format=csv`.',
    auth: ['super-admin'],
    query: AuditQuery.extend({ orgId: z.uuid().optional() }),
    answer: z.strictObject({ items: z.array(AuditEntryOfInstance), nextCursor: z.string().nullable() }),
    csv: (call) => auditFile(call, call.query.orgId ?? null),
    handle: (call) => auditPage(call, call.query.orgId ?? null, true),
    present: ({ items, nextCursor }) => ({ items: items.map(presentAuditOfInstance), nextCursor }),
  }),
];
