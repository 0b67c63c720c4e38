export { announce, append, type NewFact } from './announce.ts';
export { countWaiting } from './gauges.ts';
export { countRefused, forgetRefused, type Retried, retryRefused } from './refused.ts';
export { type Payload, type Topic } from './facts.ts';
export { type ListenerLog } from './hear.ts';
export { type Fact, type Listener, listener, type Wake } from './listener.ts';
export { startListeners } from './listeners.ts';
