export { noteAround } from './around.ts';
export { csvCells, csvLine } from './csv.ts';
export { type AuditNote, AuditActor, writeAudit } from './write.ts';
export { type Audit, openAudit } from './open.ts';
export {
  type AuditFilter,
  auditRetention,
  type AuditRow,
  changeAuditLog,
  dropOldAudit,
  forgetActors,
  forgetOldCallers,
  oldCallers,
} from './store.ts';
