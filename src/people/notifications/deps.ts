import type { Email } from '../../delivery/email/index.ts';
import type { Push } from '../../delivery/push/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import type { AuthTokens } from '../auth/index.ts';
import type { Identity } from '../identity/index.ts';
import type { Live } from './live.ts';

/** What the use cases of this room are handed. */
export interface NotificationsDeps {
  sql: Database;
  email: Email;
  push: Pick<Push, 'enabled' | 'queueAll'>;
  tokens: Pick<AuthTokens, 'signUnsubscribe' | 'verifyUnsubscribe'>;
  identity: Pick<Identity, 'updatePreferences'>;
  /** The open pages of this process. */
  live: Pick<Live, 'announce' | 'follow'>;
  /** Public address of the application, where links of mails lead. */
  frontendUrl: string;
  /** Public address of the API, where mails unsubscribe. */
  backendUrl: string;
  retentionDays: number;
  log: Pick<Log, 'warn'>;
}
