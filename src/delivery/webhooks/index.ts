export { WEBHOOKS_TOPIC, webhooksListener } from './listen.ts';
export { bodyOfFact, isHeard } from './body.ts';
export { EVENT_TYPES, eventOf, isEvent, type WebhookTopic } from './events.ts';
export { NewWebhook, WebhookBody, WebhookChange, WebhookUpdate } from './input.ts';
export type { PingResult } from './rules.ts';
export type { WebhooksOptions } from './deps.ts';
export { openWebhooks, type Webhooks } from './service.ts';
export type { WebhookAttemptRow, WebhookEventRow } from './deliveries-store.ts';
export type { WebhookRow } from './store.ts';
