export type { Attempt, Next, AttemptOutcome, ClaimedPost } from './dispatch/attempt.ts';
export { CreateBody, EditBody, PostSettings, type SentBody } from './authoring/body.ts';
export { asDate, DateText, readDate } from './authoring/dates.ts';
export { type Admitted, Create, NewPost, PostAuthor, PostChange, UndonePlan } from './authoring/input.ts';
export type { AppliedPlan, PlannedRow, PlanRow } from './authoring/plan.ts';
export type { Preflight, PreflightEntry } from './authoring/preflight.ts';
export { WARNING_CODES } from './authoring/warnings.ts';
export { type PostMedia } from './row.ts';
export { filesOfSettings } from './setting-files.ts';
export type { LatenessFigures } from './dispatch/lateness.ts';
export type {
  DeliveriesPort,
  Heartbeat,
  Link,
  LinksPort,
  FollowUpsPort,
  MediaPort,
  DueChange,
  ReminderMoves,
} from './ports.ts';
export type { ChannelSnapshot, LoginFacts, ChannelsPort, Connected, NetworkRules } from './channels-port.ts';
export { HEARTBEAT_TIMEOUT_MS, lookUpDelay, settles, SKEW_MS } from './rules.ts';
export type { PostsOptions } from './deps.ts';
export type { Preparation } from './dispatch/ahead.ts';
export { snapshot } from './dispatch/attempt-row.ts';
export { LONGEST_BEHIND_MS, type MadeOutcome, type Making, type WithoutSlot } from './dispatch/without-slot.ts';
export type { PendingLookUp } from './dispatch/attempts.ts';
export { openPosts, type Posts } from './open.ts';
export { checkPlugText, isValidValue, judgeComment, PLUG_TEXT, plugValueOf } from './authoring/follow-ups.ts';
export type { NoteRow } from './notes.ts';
export { separateContent } from './separate.ts';
export type { TagFields, TagRow } from './tags.ts';
export { rootsOf } from './authoring/storing/quotas.ts';
export type { CalendarPost } from './reading/calendar.ts';
export type { ListFilter, ListPart } from './reading/list.ts';
export type { Place } from './reading/occurrences.ts';
export { type BriefPost, type PostRow, STATES } from './reading/row.ts';
export type { TimelineRow } from './reading/timeline.ts';
export { dropPosts, pausePosts } from './bulk.ts';
export { resumePosts } from './resume.ts';
export { catchUpStopped } from './dispatch/catch-up.ts';
export { insertTimeline, postFact, timeline, touchPosts, withChannel } from './journal.ts';
export { postsRetention } from './retention.ts';
export { awaitsApproval, braked, inFlight, labelsOf, orgIsDisabled, published, queued } from './state.ts';
export { BrakeTarget, marksOfNewChannel } from './brake/brakes.ts';
export { type CampaignFields, type CampaignRow, campaignsRetention } from './campaigns/store.ts';
