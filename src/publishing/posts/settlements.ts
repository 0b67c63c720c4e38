import type { Attempt, ClaimedPost } from './dispatch/attempt.ts';
import type { Settlement } from './dispatch/settlement.ts';

/** What an attempt writes where nothing else is said: the post waits as before, and its slot is free. */
export const settlement = (
  { orgId, channelId, postId, attempt, incarnation }: Attempt,
  change: Partial<Settlement> & Pick<Settlement, 'kind' | 'message'>,
): Settlement => ({
  orgId,
  channelId,
  postId,
  attempt,
  incarnation,
  state: 'QUEUE',
  detail: null,
  errorKind: null,
  error: null,
  releaseId: null,
  releaseUrl: null,
  released: null,
  dueInMs: null,
  lookUpInMs: null,
  rests: false,
  failed: false,
  slot: 'free',
  data: null,
  topic: null,
  retryable: false,
  forgets: false,
  resends: false,
  ...change,
});

/** What more than one outcome of an attempt writes. `asked`: it was found by asking the network, not by sending. */
export const settlementsOf = (claimed: ClaimedPost, asked: 'unconfirmed' | 'processing' | undefined) => ({
  fail: (errorKind: string, error: string, retryable: boolean) =>
    settlement(claimed, {
      state: 'ERROR',
      errorKind,
      error,
      failed: true,
      kind: 'failed',
      message: error,
      data: { errorKind },
      topic: 'post.failed',
      retryable,
    }),
  undecided: (error: string) =>
    settlement(claimed, {
      state: 'ERROR',
      detail: 'unconfirmed',
      errorKind: 'unconfirmed',
      error,
      failed: true,
      kind: 'failed',
      message: error,
      topic: 'post.unconfirmed',
    }),
  again: (errorKind: string, error: string, dueInMs: number) =>
    settlement(claimed, {
      detail: 'retrying',
      errorKind,
      error,
      dueInMs,
      rests: errorKind === 'rate_limited',
      failed: true,
      kind: errorKind === 'rate_limited' ? 'rate_limited' : 'retry_planned',
      message: error,
      data: { inMs: dueInMs },
      topic: 'post.retrying',
    }),

  /** Nobody knows whether it is out. */
  unanswered: (error: string, lookUpInMs: number) =>
    settlement(claimed, {
      detail: 'unconfirmed',
      errorKind: 'unconfirmed',
      error,
      lookUpInMs,
      slot: asked ? 'keep' : 'hold',
      kind: 'unconfirmed',
      message: asked ? 'The network does not show it yet' : 'The answer was lost; the network will be asked',
      data: { reason: error },
    }),

  /** Nothing has failed: the post waits for the network. */
  later: (kind: string, message: string, inMs: number) =>
    settlement(claimed, {
      detail: claimed.attemptsFailed > 0 ? 'retrying' : 'scheduled',
      dueInMs: inMs,
      rests: kind !== 'accepted',
      kind,
      message,
      data: { inMs },
    }),
});
