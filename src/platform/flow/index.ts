export { openBatcher } from './batcher.ts';
export { atMost } from './deadline.ts';
export { type HeldClaims, holdClaims } from './held-claims.ts';
export { type Limiter, LimiterClosed, openLimiter, type LimiterPlace } from './limiter.ts';
export { type Loop, startLoop } from './loop.ts';
export { FairQueue, Fifo } from './queues.ts';
export { openWaiters, type Waiters } from './waiters.ts';
export { startWorker } from './worker.ts';
export { openWriteBehind } from './write-behind.ts';
