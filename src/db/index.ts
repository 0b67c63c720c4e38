export { groupCommit } from './batch.ts';
export { type Database, type DatabaseOptions, isUniqueViolation, type Json, openDatabase, type Sql } from './client.ts';
export { type Lease, lease, type LeaseOptions, openLease } from './lease.ts';
export { migrate } from './migrate.ts';
