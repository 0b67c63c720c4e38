import type { Sql } from '../platform/db/index.ts';

/** Stops channels and members in the rooms that own them, in a transaction that holds the organization's counters. */
export interface Stop {
  channels(sql: Sql, orgId: string, ids: readonly string[]): Promise<unknown>;
  members(sql: Sql, orgId: string, userIds: readonly string[]): Promise<unknown>;
}
