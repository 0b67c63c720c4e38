import { z } from 'zod';
import { auditCsv, listAudit, presentAuditOfInstance } from '../../../src/audit/index.ts';
import { pageOf } from '../../../src/kernel/index.ts';
import { route } from '../../http/route.ts';
import { AuditEntry, AuditQuery } from '../_audit-routes.ts';

export default [
  route({
    method: 'get',
    path: '/admin/audit',
    summary: 'Who did what in all orgs and to the whole instance, newest first; as a file with `format=csv`.',
    auth: ['super-admin'],
    query: AuditQuery.extend({ orgId: z.uuid().optional() }),
    answer: z.strictObject({ items: z.array(AuditEntry.extend({ orgId: z.string().nullable() })), nextCursor: z.string().nullable() }),
    csv: ({ ctx, query }) => auditCsv(ctx.sql, query.orgId ?? null, query),
    handle: async ({ ctx, query }) =>
      pageOf(await listAudit(ctx.sql, query.orgId ?? null, query, { limit: query.limit + 1, before: query.cursor }), query.limit),
    present: ({ items, nextCursor }) => ({ items: items.map(presentAuditOfInstance), nextCursor }),
  }),
];
