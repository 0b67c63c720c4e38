export { csvLine } from './csv.ts';
export { type AuditNote, AuditActor, writeAudit } from './write.ts';
export { type Audit, openAudit } from './open.ts';
export {
  type AuditFilter,
  type AuditRow,
  changeAuditLog,
  dropOldAudit,
  forgetCallers,
  forgetOldCallers,
} from './store.ts';
