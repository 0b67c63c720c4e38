import { z } from 'zod';
import { auditCsv, listAudit, presentAudit } from '../../src/audit/index.ts';
import { pageOf } from '../../src/kernel/index.ts';
import { route } from '../http/route.ts';
import { AuditEntry, AuditQuery } from './_audit-routes.ts';

export default [
  route({
    method: 'get',
    path: '/settings/audit',
    summary: 'Who did what in this org, newest first; as a file with `format=csv`.',
    auth: ['session'],
    permission: 'settings:manage', // S270: owner and admin; everybody else has `settings:read` too
    query: AuditQuery,
    answer: z.strictObject({ items: z.array(AuditEntry), nextCursor: z.string().nullable() }),
    csv: ({ ctx, principal, query }) => auditCsv(ctx.sql, principal.orgId, query),
    handle: async ({ ctx, principal, query }) =>
      pageOf(await listAudit(ctx.sql, principal.orgId, query, { limit: query.limit + 1, before: query.cursor }), query.limit),
    present: ({ items, nextCursor }) => ({ items: items.map(presentAudit), nextCursor }),
  }),
];
