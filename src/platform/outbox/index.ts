export { announce, append, type NewFact } from './announce.ts';
export { countWaiting } from './gauges.ts';
export { type Payload, type Topic } from './facts.ts';
export { type Consumer, type Log, OUTBOX_TOPIC, type Relay, type RelayOptions, startRelay } from './relay.ts';
