import type { Topic } from '../../platform/outbox/index.ts';

/**
 * A fact that a webhook can ask for. `standard`: those of the specification, which a webhook without a list of its own
 * receives.
 */
export interface EventType<T extends Topic = Topic> {
  event: T;
  description: string;
  standard: boolean;
}

const standard = <T extends Topic>(event: T, description: string): EventType<T> => ({
  event,
  description,
  standard: true,
});
const optional = <T extends Topic>(event: T, description: string): EventType<T> => ({
  event,
  description,
  standard: false,
});

/** Every event that a webhook can ask for. */
export const EVENT_TYPES = [
  standard('post.published', 'A post was published to a channel.'),
  optional('post.scheduled', 'A post was scheduled, or its date changed.'),
  optional('post.failed', 'A post was given up.'),
  optional('post.retrying', 'A post failed in a way that may pass; another attempt is planned.'),
  optional('post.late', 'A post was published late.'),
  optional('post.unconfirmed', 'Nobody can say whether a post was published.'),
  optional('post.deleted', 'A post was deleted before it was published.'),
  optional('first_comment.posted', 'The first comment of a post was published.'),
  optional('first_comment.failed', 'The first comment of a post was given up.'),
  optional('channel.connected', 'A channel was connected.'),
  optional('channel.refresh_needed', 'A channel needs a new login.'),
  optional('channel.disabled', 'A channel was disabled.'),
  optional('channel.deleted', 'A channel was deleted.'),
] as const;
export type WebhookTopic = (typeof EVENT_TYPES)[number]['event'];

/** Events of the specification whose cause is not there yet: none would ever come. */
const UNHEARD: ReadonlySet<string> = new Set([
  'comment.new',
  'comment.reply',
  'analytics.snapshot_complete',
  'analytics.anomaly_detected',
]);
export const isUnheard = (name: string): boolean => UNHEARD.has(name);
export const isEvent = (name: string): boolean => EVENT_TYPES.some(({ event }) => event === name);
/** What a webhook without a list of its own receives. */
export const STANDARD_EVENTS: readonly WebhookTopic[] = EVENT_TYPES.filter((type) => type.standard).map(
  ({ event }) => event,
);
