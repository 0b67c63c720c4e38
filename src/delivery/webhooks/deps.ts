import type { Billing } from '../../entitlements/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { type Clock, notFound, type Vault } from '../../platform/kernel/index.ts';
import type { Outbound } from '../../platform/outbound/index.ts';
import type { ListenerLog } from '../../platform/outbox/index.ts';
import type { WebhookEvents } from './dispatch/dispatcher.ts';
import type { Send } from './send.ts';

/** What the room is opened with. */
export interface WebhooksOptions {
  sql: Database;
  clock: Clock;
  vault: Vault;
  outbound: Outbound;
  billing: Pick<Billing, 'lockOrg' | 'admit'>;
  /** Of this start of this process. */
  incarnation: string;
  /** Of the deployment, for `X-Service-Signature`. */
  signingKey: string;
  /** `WEBHOOK_TIMEOUT_MS`. */
  timeoutMs: number;
  /** `OUTBOUND_HTTP_TIMEOUT_MS`, for events that are not signed. */
  unsignedTimeoutMs: number;
  log: ListenerLog;
  /** Told of each attempt. */
  events?: WebhookEvents | undefined;
}

/** What the use cases of the room are handed. */
export interface WebhooksDeps extends Pick<WebhooksOptions, 'sql' | 'clock' | 'vault' | 'outbound' | 'billing'> {
  send: Send;
}

export const unknownWebhook = () => notFound('Webhook not found');
