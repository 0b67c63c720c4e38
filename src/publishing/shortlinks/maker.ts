import type { Database } from '../../platform/db/index.ts';
import { type Clock } from '../../platform/kernel/index.ts';
import { startWorker } from '../../platform/flow/index.ts';
import { type Claimed, claimDue } from './store.ts';

export interface MakerOptions {
  sql: Database;
  clock: Clock;
  make: (row: Claimed) => Promise<void>;
  log: { warn(detail: object, message: string): void };
  leaseSeconds: number;
  /** Between two looks when nothing is due. */
  restMs?: number;
}

const CONCURRENCY = 16;

/** Makes links ahead of their posts, until it is disposed of. Any number of processes may: each link is one's at a time. */
export const startMaker = ({ sql, clock, make, log, leaseSeconds, restMs = 2_000 }: MakerOptions): AsyncDisposable =>
  startWorker({
    clock,
    concurrency: CONCURRENCY,
    restMs,
    claim: (limit) => claimDue(sql, { limit, leaseSeconds }),
    work: make,
    onWorkError: (error, { postId }) => log.warn({ err: error, postId }, 'a short link could not be made; it is looked after when its lease is over'),
    onClaimError: (error) => log.warn({ err: error }, 'the short links that are due could not be read'),
  });
