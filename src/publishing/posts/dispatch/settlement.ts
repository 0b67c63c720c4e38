import type { Json } from '../../../platform/db/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import type { Topic } from '../../../platform/outbox/index.ts';
import type { FollowUpsPort } from '../ports.ts';
import type { Attempt, ClaimedPost } from './attempt.ts';

/** What one attempt's end writes. `null` leaves a time as it is. */
export interface Settlement extends Attempt {
  state: 'QUEUE' | 'PUBLISHED' | 'ERROR';
  detail: 'scheduled' | 'retrying' | 'paused' | 'processing' | 'unconfirmed' | null;
  errorKind: string | null;
  error: string | null;
  releaseId: string | null;
  releaseUrl: string | null;
  released: unknown;
  /** The next attempt, from now. */
  dueInMs: number | null;
  /** The next look-up or poll, from now. */
  lookUpInMs: number | null;
  /** Nothing of the channel goes out before the next attempt. */
  rests: boolean;
  /** Counts towards giving up. */
  failed: boolean;
  /** `hold`: kept for a while from now on; `keep`: as long as was said before. */
  slot: 'free' | 'hold' | 'keep';
  kind: string;
  message: string;
  data: Json;
  /** The fact that is announced of it. */
  topic: Extract<Topic, 'post.published' | 'post.failed' | 'post.unconfirmed' | 'post.retrying' | 'post.paused'> | null;
  /** Of a failure: whether a person may try the same again. */
  retryable: boolean;
  /** What the attempt saved is of no use any more. */
  forgets: boolean;
  /** Unconfirmed, and whoever wakes its channel sends it again. */
  resends: boolean;
  /** Where it is published, the same commit takes the next post of the channel that is due already. */
  claimsNext?: boolean;
}

/**
 * `leaseMs`: how long a slot that is claimed is held without news. `unconfirmedMs`: how long that of an unconfirmed
 * post is kept. `lateMs`: a post published later than this is announced as late.
 */
export interface SettleOptions {
  clock: Pick<Clock, 'monotonic' | 'sleep'>;
  incarnation: string;
  leaseMs: number;
  unconfirmedMs: number;
  lateMs: number;
  followUps: Pick<FollowUpsPort, 'plan'>;
}

/** An attempt that was still the row's own, and when its question is due by the database's clock. */
export interface SettledAttempt {
  lookUpAt: Date | null;
  /** The next post of the channel, claimed in the same commit. Undefined says nothing: who wants to know asks. */
  next?: ClaimedPost | undefined;
  /** The post, this one or the first item of its thread, that something follows now. */
  followed?: string | undefined;
}
