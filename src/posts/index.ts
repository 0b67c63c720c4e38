export type { Attempt, Next, Outcome, Taken } from './attempt.ts';
export { CreateBody, DateText, EditBody, readDate } from './body.ts';
export { Create, NewPost, PostChange, type PostMedia } from './input.ts';
export type { LatenessFigures } from './lateness.ts';
export type { Beat, ChannelSnapshot, ChannelsPort, Connected, Log, MediaPort, NetworkRules, Nudge, Nudges, Processing } from './ports.ts';
export { presentPost, presentPostWithThread, presentPublicPost, presentPublicPostWithThread, presentTimeline } from './present.ts';
export { openPosts, type Posts, type PostsOptions, type Question, type Sweeps } from './service.ts';
export { type PostRow, STATES, type TimelineRow } from './store/read.ts';
