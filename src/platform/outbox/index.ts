export { type Announcement, append } from './append.ts';
export { type Consumer, type Log, OUTBOX_TOPIC, type Relay, type RelayOptions, startRelay } from './relay.ts';
