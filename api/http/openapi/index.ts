export { type Described, openApi } from './document.ts';
export type { Json, Shapes } from './schemas.ts';
export type { WebhookEvent } from './webhooks.ts';
