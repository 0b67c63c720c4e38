export type { Snapshot } from './connection.ts';
export { disableForPlan, pauseQueue, resumeQueue, stopAll } from './transitions.ts';
export { ChannelRules, ChannelShape, NetworkShape, presentPublicChannel, PublicChannel } from './present.ts';
export { type Channels, type ChannelsOptions, openChannels } from './service.ts';
