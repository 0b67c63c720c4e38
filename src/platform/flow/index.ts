export { openTurns } from './limiter.ts';
export { FairQueue, Fifo } from './queues.ts';
export { startWorker } from './worker.ts';
