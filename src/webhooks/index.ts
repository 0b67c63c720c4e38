export { NewWebhook, WebhookChange } from './input.ts';
