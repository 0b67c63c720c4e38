import type { Sql } from '../db/index.ts';
import { csvLine } from './csv.ts';
import { type AuditFilter, type AuditRow, listAudit } from './store.ts';

const PAGE = 500;
/** The whole log as CSV, newest first, read page by page. */
export async function* auditCsv(sql: Sql, orgId: string | null, filter: AuditFilter): AsyncGenerator<string> {
  yield csvLine([
    'id',
    'at',
    ...(orgId === null ? ['orgId'] : []),
    'userId',
    'impersonatorId',
    'ip',
    'action',
    'resource',
    'resourceId',
    'detail',
  ]);
  for (let before: string | undefined; ;) {
    const rows = await listAudit(sql, orgId, filter, { limit: PAGE, before });
    if (rows.length > 0) yield rows.map((row) => lineOf(row, orgId === null)).join('');
    if (rows.length < PAGE) return;
    before = rows.at(-1)!.id;
  }
}
const lineOf = (
  { id, at, orgId, userId, impersonatorId, ip, action, resource, resourceId, detail }: AuditRow,
  withOrg: boolean,
): string =>
  csvLine([
    id,
    at.toISOString(),
    ...(withOrg ? [orgId] : []),
    userId,
    impersonatorId,
    ip,
    action,
    resource,
    resourceId,
    JSON.stringify(detail),
  ]);
