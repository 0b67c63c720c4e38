export type { Snapshot } from './connection.ts';
export { disableForPlan, stopAll } from './transitions/disable.ts';
export { pauseQueue, resumeQueue } from './transitions/queue.ts';
export type { ChannelsOptions } from './deps.ts';
export type { PostingRules } from './networks.ts';
export type { ChannelView } from './reading.ts';
export { type Channels, openChannels } from './service.ts';
