import type { Sql } from '../../platform/db/index.ts';

/** Stops and starts what an organization has queued, in the transaction that decides so. */
export interface Queue {
  pauseQueue(sql: Sql, orgId: string, message: string): Promise<void>;
  resumeQueue(sql: Sql, orgId: string): Promise<void>;
}
