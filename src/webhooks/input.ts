import { z } from 'zod';

export const NewWebhook = z.strictObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  channelIds: z.array(z.string()),
  events: z.array(z.string()),
  /** Sealed. */
  secret: z.string().optional(),
  idempotency: z.strictObject({ scope: z.string(), key: z.string(), claim: z.string(), status: z.int(), reply: z.string() }).optional(),
});
export type NewWebhook = z.output<typeof NewWebhook>;

export const WebhookChange = z.strictObject({
  id: z.string(),
  name: z.string().optional(),
  url: z.string().optional(),
  channelIds: z.array(z.string()).optional(),
  events: z.array(z.string()).optional(),
  secret: z.string().optional(),
});
export type WebhookChange = z.output<typeof WebhookChange>;
