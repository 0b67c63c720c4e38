import type { Sql } from '../../platform/db/index.ts';
import type { MailContent } from './templates.ts';

export interface Mail {
  to: string;
  /** Null where no org stands behind it. */
  orgId: string | null;
  content: MailContent;
}

export interface Email {
  /**
   * Whether mails leave at all: EMAIL_PROVIDER names a provider that can send. Without it users are active at once, and
   * `queue` does nothing.
   */
  readonly enabled: boolean;
  /**
   * Writes the mail into the caller's transaction; it leaves after the commit, also when the process dies in between.
   */
  queue(sql: Sql, mail: Mail): Promise<void>;
  /** The same of many, in one statement. */
  queueAll(sql: Sql, mails: readonly Mail[]): Promise<void>;
}
