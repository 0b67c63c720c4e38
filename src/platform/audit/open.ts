import type { Database } from '../db/index.ts';
import { bind } from '../kernel/index.ts';
import { auditCsv } from './export.ts';
import { listAudit } from './store.ts';
import { writeAudit } from './write.ts';

export type Audit = ReturnType<typeof openAudit>;

/** The audit log for those who read it: as rows, as a file, and to note that they did. */
export const openAudit = (sql: Database) => bind(sql, { list: listAudit, csv: auditCsv, write: writeAudit });
