import { z } from 'zod';
import { AuditActor } from '../../platform/audit/index.ts';

const name = z.string().trim().normalize('NFC').min(1).max(100);
const url = z.string().max(2_000);
const integrations = z.array(z.strictObject({ id: z.string().max(255) })).max(1_000);
const events = z.array(z.string().max(100)).max(100);

/** What a client sends to make a webhook (S166). */
export const WebhookBody = z.strictObject({
  name,
  url,
  integrations,
  events: events.optional(),
  secret: z.boolean().optional(),
});
export type WebhookBody = z.output<typeof WebhookBody>;
/** What a client sends to change one; what it leaves out of the extensions stays. */
export const WebhookUpdate = WebhookBody.extend({ rotateSecret: z.boolean().optional() });
export type WebhookUpdate = z.output<typeof WebhookUpdate>;

/** A webhook to be stored, judged already. The id is the caller's, so a repeated call inserts nothing twice. */
export const NewWebhook = z.strictObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  channelIds: z.array(z.string()),
  events: z.array(z.string()),
  /** Sealed. */
  secret: z.string().optional(),
  createdAt: z.coerce.date(),
  /** Who makes it, for the audit log. */
  by: AuditActor.optional(),
  /** The reply is sealed when it shows the secret. */
  idempotency: z
    .strictObject({ scope: z.string(), key: z.string(), claim: z.string(), status: z.int(), reply: z.string() })
    .optional(),
});
export type NewWebhook = z.output<typeof NewWebhook>;

export const WebhookChange = z.strictObject({
  id: z.string(),
  name: z.string().optional(),
  url: z.string().optional(),
  channelIds: z.array(z.string()).optional(),
  events: z.array(z.string()).optional(),
  /** Sealed; one that was there before signs beside it for 24 hours. */
  secret: z.string().optional(),
  by: AuditActor.optional(),
});
export type WebhookChange = z.output<typeof WebhookChange>;
