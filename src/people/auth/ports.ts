import type { Sql } from '../../platform/db/index.ts';

/** What programs have spent on AI today. */
export interface ProgramSpending {
  /** Gives a key that replaces another what that one has used of its day. */
  copyDay(transaction: Sql, orgId: string, from: string, to: string): Promise<unknown>;
}

/** The calendar feeds that show what a user may read, whatever the organization. */
export interface CalendarFeeds {
  namesOf(transaction: Sql, userId: string): Promise<readonly { name: string; orgName: string }[]>;
  endAllOf(transaction: Sql, userId: string): Promise<unknown>;
}

/** The apps that act for a user, whatever the organization. */
export interface Approvals {
  namesOf(transaction: Sql, userId: string): Promise<readonly { name: string; orgName: string }[]>;
  /**
   * Ends them with all their tokens, and approvals of devices that have no key yet; what another process remembers of
   * them it forgets within a second.
   */
  endAllOf(transaction: Sql, userId: string): Promise<unknown>;
}
