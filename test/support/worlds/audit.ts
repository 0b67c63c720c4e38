import { changeAuditLog } from '../../../src/platform/audit/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';

/** Empties the audit log, which the product never does. */
export const emptyAuditLog = (sql: Database): Promise<unknown> =>
  changeAuditLog(sql, (tx) => tx`delete from audit_log`);
