export { csvLine } from './csv.ts';
export { type AuditNote, AuditActor, writeAudit } from './write.ts';
export { auditCsv } from './export.ts';
export {
  type AuditFilter,
  type AuditRow,
  changeAuditLog,
  dropOldAudit,
  forgetCallers,
  forgetOldCallers,
  listAudit,
} from './store.ts';
