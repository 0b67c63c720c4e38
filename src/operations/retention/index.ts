export { openRetention, readRetention, type RetentionLine, type RetentionRoom } from './report.ts';
export { RETENTION_VARIABLES } from './variables.ts';
