export type { Snapshot } from './connection.ts';
export { disableForPlan, pauseQueue, resumeQueue, stopAll } from './transitions.ts';
export { type Channels, type ChannelsOptions, type ChannelView, openChannels, type PostingRules } from './service.ts';
