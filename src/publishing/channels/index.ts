export type { Snapshot } from './connection.ts';
export { disableForPlan, pauseQueue, resumeQueue, stopAll } from './transitions.ts';
export type { ChannelsOptions } from './deps.ts';
export type { PostingRules } from './networks.ts';
export type { ChannelView } from './reading.ts';
export { type Channels, openChannels } from './service.ts';
