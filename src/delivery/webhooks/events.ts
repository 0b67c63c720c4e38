import type { Topic } from '../../platform/outbox/index.ts';

/**
 * A fact that a webhook can ask for. `standard`: those of the specification, which a webhook without a list of its own
 * receives.
 */
export interface EventType<T extends Topic = Topic> {
  event: string;
  /** The facts that it tells of. */
  topics: readonly T[];
  description: string;
  standard: boolean;
  signed: boolean;
}

const standard = <T extends Topic>(topic: T, description: string): EventType<T> => ({
  event: topic,
  topics: [topic],
  description,
  standard: true,
  signed: true,
});
/** Of the specification, too. */
const unsigned = <T extends Topic>(event: string, topics: readonly T[], description: string): EventType<T> => ({
  event,
  topics,
  description,
  standard: true,
  signed: false,
});
const optional = <T extends Topic>(topic: T, description: string, event: string = topic): EventType<T> => ({
  event,
  topics: [topic],
  description,
  standard: false,
  signed: true,
});

/** Every event that a webhook can ask for. */
export const EVENT_TYPES = [
  standard('post.published', 'A post was published to a channel.'),
  unsigned('comment.new', ['comment.new', 'comment.synced'], 'A comment is new, or a number of them above 10.'),
  unsigned('comment.reply', ['comment.reply'], 'A reply to a comment was published.'),
  unsigned('analytics.snapshot_complete', ['analytics.snapshot_complete'], 'The daily snapshot is whole.'),
  unsigned('analytics.anomaly_detected', ['analytics.anomaly_detected'], 'The daily sweep found anomalies.'),
  optional('post.scheduled', 'A post was scheduled, or its date changed.'),
  optional('post.failed', 'A post, or a later item of a thread, was given up.'),
  optional('post.retrying', 'A post failed in a way that may pass; another attempt is planned.'),
  optional('post.late', 'A post was published late.'),
  optional('post.missed', 'A post was due while the service was down, and is seen late.'),
  optional('post.unconfirmed', 'Nobody can say whether a post, or a later item of a thread, was published.'),
  optional('post.paused', 'A post waits for its channel, for a brake or for a payment.'),
  optional('post.resumed', 'A post that waited goes on.'),
  optional('post.approval_requested', 'A post waits for approval.'),
  optional('post.approved', 'A post was approved.'),
  optional('post.rejected', 'A post was rejected by whoever was to approve it.'),
  optional('post.deleted', 'A post was deleted before it was published.'),
  optional('first_comment.posted', 'The first comment of a post was published.'),
  optional('first_comment.failed', 'The first comment of a post was given up.'),
  optional('channel.connected', 'A channel was connected.'),
  optional('channel.refresh_needed', 'A channel needs a new login.'),
  optional('channel.token_expiring', 'The login of a channel ends in 7 days, or in one.'),
  optional('channel.disabled', 'A channel was disabled.'),
  optional('channel.deleted', 'A channel was deleted.'),
  optional('media.job_ended', 'A media job is done or has failed.', 'media.job_finished'),
] as const;
export type WebhookTopic = (typeof EVENT_TYPES)[number]['topics'][number];

const EVENTS: ReadonlyMap<WebhookTopic, string> = new Map(
  EVENT_TYPES.flatMap(({ topics, event }) => topics.map((topic) => [topic, event] as const)),
);
/** The name under which webhooks are told of a fact. */
export const eventOf = (topic: WebhookTopic): string => EVENTS.get(topic)!;

const UNSIGNED: ReadonlySet<string> = new Set(EVENT_TYPES.flatMap(({ event, signed }) => (signed ? [] : [event])));
/** Whether an event is signed, tried again and has a body with `data`; the others are sent once, as they are (W4). */
export const isSignedEvent = (event: string): boolean => !UNSIGNED.has(event);
export const isEvent = (name: string): boolean => EVENT_TYPES.some(({ event }) => event === name);
/** What a webhook without a list of its own receives. */
export const STANDARD_EVENTS: readonly string[] = EVENT_TYPES.filter((type) => type.standard).map(({ event }) => event);
