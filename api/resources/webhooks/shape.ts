import { z } from 'zod';
import type { WebhookAttemptRow, WebhookEventRow, WebhookRow } from '../../../src/delivery/webhooks/index.ts';
import { instant } from '../../http/fields.ts';
import type { Principal } from '../../http/route.ts';

export const Webhook = z.strictObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  integrations: z.array(z.strictObject({ id: z.string() })),
  events: z.array(z.string()),
  hasSecret: z.boolean(),
  createdAt: instant,
  updatedAt: instant,
  stats: z.strictObject({
    total: z.int(),
    succeeded: z.int(),
    failed: z.int(),
    lastStatus: z.int().nullable(),
    lastDeliveredAt: instant.nullable(),
    lastError: z.string().nullable(),
    consecutiveFailures: z.int(),
  }),
});
export const WebhookWithSecret = Webhook.extend({ secret: z.string().optional() });
export type WebhookView = z.input<typeof Webhook>;

/** The public shape of a webhook (S165), for the API, the console and MCP alike. Secrets are not in the row. */
export const presentWebhook = (row: WebhookRow): z.input<typeof Webhook> => ({
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

/**
 * The form for callers who may not change it: of its address the origin alone, since path and query often hold a token
 * of the receiver.
 */
const withoutAddress = (view: WebhookView): WebhookView => ({ ...view, url: originOf(view.url) });
function originOf(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return '…';
  return parsed.pathname === '/' && parsed.search === '' ? parsed.origin : `${parsed.origin}/…`;
}

/** A webhook as this caller may see it. */
export const viewFor = ({ permissions }: Principal, row: WebhookRow): WebhookView =>
  permissions.has('webhooks:update') ? presentWebhook(row) : withoutAddress(presentWebhook(row));

export const Sent = z.union([
  z.strictObject({ success: z.literal(true), status: z.int() }),
  z.strictObject({ success: z.literal(false), status: z.literal(0), error: z.string() }),
]);

export const Attempt = z.strictObject({
  id: z.string(),
  event: z.string(),
  attempt: z.int(),
  status: z.int(),
  error: z.string().nullable(),
  durationMs: z.int(),
  at: instant,
});

/** One attempt (S170); `id` is the delivery's, to be delivered again by. */
export const presentAttempt = ({
  id,
  event,
  attempt,
  status,
  error,
  durationMs,
  at,
}: WebhookAttemptRow): z.input<typeof Attempt> => ({
  id,
  event,
  attempt,
  status,
  error,
  durationMs,
  at: at.toISOString(),
});

export const WebhookEvent = z.strictObject({
  seq: z.int(),
  id: z.string(),
  event: z.string(),
  body: z.string(),
  at: instant,
});

/** One event of a webhook (S170); `id` is the `webhook-id` that its deliveries carry. */
export const presentEvent = ({ seq, id, event, body, at }: WebhookEventRow): z.input<typeof WebhookEvent> => ({
  seq,
  id: `msg_${id}`,
  event,
  body,
  at: at.toISOString(),
});
