import { bind } from '../../platform/kernel/index.ts';
import { addWebhook, changeWebhook, prepareWebhook, prepareWebhookChange, removeWebhook } from './authoring.ts';
import { listAttemptsOfPost } from './deliveries-store.ts';
import type { WebhooksDeps, WebhooksOptions } from './deps.ts';
import { openDispatcher } from './dispatch/dispatcher.ts';
import { overdueWebhooks, webhookIsOverdue, workOfWebhooks } from './dispatch/slots.ts';
import { pingUrl, pingWebhook, redeliver } from './on-demand.ts';
import { getWebhook, pageOfAttempts, pageOfEvents } from './reading.ts';
import { dropOldDeliveries } from './retention.ts';
import { replay } from './replay.ts';
import { openSend } from './send.ts';
import { listWebhooks } from './store.ts';

export type Webhooks = ReturnType<typeof openWebhooks>;

const ATTEMPTS_OF_POST = 200;
const KEPT_MS = 30 * 86_400_000;

/** Opens the webhooks of organizations: which events they are sent, the deliveries and their outcome. */
export function openWebhooks(options: WebhooksOptions) {
  const { sql } = options;
  const send = openSend(options);
  const deps: WebhooksDeps = { ...options, send };
  return {
    ...openDispatcher({ ...options, send }),
    ...bind(deps, {
      get: getWebhook,
      prepare: prepareWebhook,
      prepareChange: prepareWebhookChange,
      add: addWebhook,
      change: changeWebhook,
      remove: removeWebhook,
      testPing: pingWebhook,
      send: pingUrl,
      attempts: pageOfAttempts,
      events: pageOfEvents,
      redeliver,
      replay,
    }),
    list: (orgId: string) => listWebhooks(sql, orgId),
    /** The latest attempts to deliver events of a post, oldest first. */
    attemptsOfPost: (orgId: string, postId: string) => listAttemptsOfPost(sql, orgId, postId, ATTEMPTS_OF_POST),
    /** Actors to be woken by the reconciler. */
    overdue: (limit: number) => overdueWebhooks(sql, limit),
    /** A condition that holds where `overdue` finds something. */
    overdueSign: () => webhookIsOverdue(sql),
    /** Forgets what was over 30 days ago, at most `limit` attempts and deliveries of each; answers how many. */
    dropOld: (limit: number) => dropOldDeliveries(sql, KEPT_MS, limit),
    /** What waits, what should have been sent, and what each host sends. */
    work: () => workOfWebhooks(sql),
  };
}
