/** Every event that a webhook can ask for. `standard`: those of the specification, which a webhook without a list of its own receives. */
export interface EventType {
  event: string;
  description: string;
  signed: boolean;
  standard: boolean;
}

const standard = (event: string, description: string): EventType => ({ event, description, signed: true, standard: true });
const unsigned = (event: string, description: string): EventType => ({ event, description, signed: false, standard: true });
const optional = (event: string, description: string): EventType => ({ event, description, signed: true, standard: false });

export const EVENT_TYPES: readonly EventType[] = [
  standard('post.published', 'A post was published to a channel.'),
  unsigned('comment.new', 'A new comment was synced.'),
  unsigned('comment.reply', 'A reply was posted to a comment.'),
  unsigned('analytics.snapshot_complete', 'The daily snapshots of the organization are complete.'),
  unsigned('analytics.anomaly_detected', 'The daily sweep found anomalies.'),
  optional('post.scheduled', 'A post was scheduled, or its date changed.'),
  optional('post.failed', 'A post was given up.'),
  optional('post.retrying', 'A post failed in a way that may pass; another attempt is planned.'),
  optional('post.late', 'A post was published late.'),
  optional('post.unconfirmed', 'Nobody can say whether a post was published.'),
  optional('post.deleted', 'A post was deleted before it was published.'),
  optional('channel.connected', 'A channel was connected.'),
  optional('channel.refresh_needed', 'A channel needs a new login.'),
  optional('channel.disabled', 'A channel was disabled.'),
  optional('channel.deleted', 'A channel was deleted.'),
];

export const isEvent = (name: string): boolean => EVENT_TYPES.some(({ event }) => event === name);
/** What a webhook without a list of its own receives. */
export const STANDARD_EVENTS = EVENT_TYPES.filter((type) => type.standard).map(({ event }) => event);
