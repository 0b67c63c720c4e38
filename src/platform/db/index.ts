export { endAbandoned, hasAbandoned } from './abandoned.ts';
export { readConnections } from './gauges.ts';
export { foldChangeCounters, readChangeCounter } from './change-counters.ts';
export { groupCommit, LOCKED } from './batch.ts';
export { dealt } from './deal.ts';
export {
  claimKey,
  completeKey,
  deleteKeysOfUser,
  dropOldKeys,
  findReply,
  keepAnswer,
  type KeptAnswer,
  type KeyClaim,
  releaseKey,
  renewKey,
  scopeOfUser,
} from './idempotency.ts';
export {
  type Database,
  type DatabaseOptions,
  type Fragment,
  isReferenced,
  isUniqueViolation,
  type Json,
  onNextCommit,
  openDatabase,
  openSession,
  type Sql,
} from './client.ts';
export { column, type RowOf, table } from './table.ts';
export { type Lease, lease, type LeaseOptions, openLease } from './lease.ts';
export { countCascade, deleteInParts, tablesWithMany } from './references.ts';
export { findDueByAge, oldRows, type RetentionRule, retentionRule } from './retention.ts';
export { lockHoldersText } from './lock-holders.ts';
export { migrate, type MigrateOptions } from './migrate.ts';
export { type CronRun, declareRuns, dueRuns, type EndedRun, listRuns, noteRuns } from './cron-runs.ts';
export { prepared } from './prepared.ts';
export { findTrue } from './signs.ts';
export { oldestRunning } from './running.ts';
export { runEach } from './run-each.ts';
export { wideRows } from './wide-rows.ts';
export { asCallerError, isFinal, isUnavailable } from './unavailable.ts';
export { whileAway } from './while-away.ts';
export { replaceSealed, SEALED, type SealedColumn, type SealedText, sealedTexts } from './sealed.ts';
