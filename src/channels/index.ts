export type { Connected, NetworkRules, Snapshot } from './connection.ts';
export type { Begin, Complete, Completed, Person } from './login.ts';
export { ChannelRules, ChannelShape, NetworkShape, presentPublicChannel, PublicChannel } from './present.ts';
export { type Channels, type ChannelsOptions, openChannels } from './service.ts';
export type { ChannelRow, CustomerRow } from './store.ts';
