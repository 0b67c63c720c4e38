export type { Attempt, Next, AttemptOutcome, ClaimedPost } from './dispatch/attempt.ts';
export { CreateBody, EditBody, PostSettings, type SentBody } from './authoring/body.ts';
export { asDate, DateText, readDate } from './authoring/dates.ts';
export { type Admitted, Create, NewPost, PostChange } from './authoring/input.ts';
export { type PostMedia } from './row.ts';
export type { LatenessFigures } from './dispatch/lateness.ts';
export type {
  Heartbeat,
  ChannelSnapshot,
  Link,
  LinksPort,
  ChannelsPort,
  Connected,
  MediaPort,
  NetworkRules,
  DueChange,
  ReminderMoves,
} from './ports.ts';
export { HEARTBEAT_TIMEOUT_MS } from './rules.ts';
export type { PostsOptions } from './deps.ts';
export type { Preparation } from './dispatch/ahead.ts';
export type { PendingLookUp } from './dispatch/attempts.ts';
export { openPosts, type Posts } from './open.ts';
export { rootsOf } from './authoring/quotas.ts';
export { type PostRow, STATES } from './reading/row.ts';
export type { TimelineRow } from './reading/timeline.ts';
export { dropPosts, pausePosts, resumePosts } from './bulk.ts';
export { insertTimeline } from './journal.ts';
export { inFlight, queued } from './state.ts';
