export { announce, append, type NewFact } from './announce.ts';
export { countWaiting } from './gauges.ts';
export { countRefused, forgetRefused, type Retried, retryRefused } from './refused.ts';
export { type Payload, type Topic } from './facts.ts';
export {
  type Fact,
  type Listener,
  listener,
  type ListenersOptions,
  type ListenerLog,
  startListeners,
  type Wake,
} from './listeners.ts';
