import type { AttemptRow, EventRow, WebhookRow } from './store.ts';

/** The public shape of a webhook (S165), for the API, the console and MCP alike. Secrets are not in the row. */
export const presentWebhook = (row: WebhookRow) => ({
  id: row.id,
  name: row.name,
  url: row.url,
  integrations: row.channelIds.map((id) => ({ id })),
  events: row.events,
  hasSecret: row.hasSecret,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  stats: {
    total: row.total,
    succeeded: row.succeeded,
    failed: row.failed,
    lastStatus: row.lastStatus,
    lastDeliveredAt: row.lastDeliveredAt?.toISOString() ?? null,
    lastError: row.lastError,
    consecutiveFailures: row.consecutiveFailures,
  },
});
/** What is shown to whoever may not change it: of its address the origin alone, since path and query often hold a token of the receiver. */
export const withoutAddress = (view: WebhookView): WebhookView => ({ ...view, url: originOf(view.url) });
function originOf(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return '…';
  return parsed.pathname === '/' && parsed.search === '' ? parsed.origin : `${parsed.origin}/…`;
}
export type WebhookView = ReturnType<typeof presentWebhook>;

/** One attempt (S170); `id` is the delivery's, to be delivered again by. */
export const presentAttempt = ({ id, event, attempt, status, error, durationMs, at }: AttemptRow) => ({
  id,
  event,
  attempt,
  status,
  error,
  durationMs,
  at: at.toISOString(),
});

/** One event of a webhook (S170); `id` is the `webhook-id` that its deliveries carry. */
export const presentEvent = ({ seq, id, event, body, at }: EventRow) => ({ seq, id: `msg_${id}`, event, body, at: at.toISOString() });
