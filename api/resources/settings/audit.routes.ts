import { z } from 'zod';
import { routesOf } from '../../http/route.ts';
import { auditFile, auditPage, AuditQuery } from '../audit/handlers.ts';
import { AuditEntry, presentAudit } from '../audit/shape.ts';

const route = routesOf('audit');

export default [
  route({
    method: 'get',
    path: '/settings/audit',
    summary: 'List audit entries of the organization',
    description: 'Newest first; as a file with `format=csv`.',
    auth: ['session'],
    permission: 'settings:manage', // S270: owner and admin; everybody else has `settings:read` too
    query: AuditQuery,
    answer: z.strictObject({ items: z.array(AuditEntry), nextCursor: z.string().nullable() }),
    csv: (call) => auditFile(call, call.principal.orgId),
    handle: (call) => auditPage(call, call.principal.orgId, false),
    present: ({ items, nextCursor }) => ({ items: items.map(presentAudit), nextCursor }),
  }),
];
