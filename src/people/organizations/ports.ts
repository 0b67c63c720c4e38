import type { Sql } from '../../platform/db/index.ts';

/** Ends what other rooms hold for an organization, in the transaction that removes it. */
export interface Endings {
  /** Stops every channel of the organization with the posts that wait in it. */
  stopChannels(sql: Sql, orgId: string, message: string): Promise<void>;
  /** Ends what is paid: nobody pays for an organization that is gone. */
  endSubscription(sql: Sql, orgId: string): Promise<void>;
  /** Forgets what runs in the background for an organization whose rows are deleted. */
  forgetBackground(sql: Sql, orgId: string): Promise<void>;
}
