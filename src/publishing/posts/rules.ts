import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Attempt, AttemptOutcome, ClaimedPost } from './dispatch/attempt.ts';
import type { Connected, Paced } from './ports.ts';
import type { Settlement } from './dispatch/settle.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * How long one publish may take, all its steps together, and how long its slot is held without news. One with files has
 * the time for their bytes as well, for as long as its host knows that it holds the slot: it is broken off `CALL_MS`
 * after the last sign of that, so that nothing arrives at a network later than this after another host took over.
 */
export const CALL_MS = 60 * SECOND;
export const LONGEST_CALL_MS = 30 * MINUTE;
export const SLOT_LEASE_MS = 2 * CALL_MS;
/** How long an unconfirmed post keeps its channel from the next one. */
export const UNCONFIRMED_LEASE_MS = MINUTE;
/** No call is made when the last heartbeat is older; others take over after `HEARTBEAT_TIMEOUT_MS`. */
export const HEARTBEAT_FRESH_MS = 4 * SECOND;
export const HEARTBEAT_TIMEOUT_MS = 5 * SECOND;
/** Clocks of a network and of the database may differ by this much. */
export const SKEW_MS = 30 * SECOND;

/** How long before its publish date a post is prepared, and how long at least: later ones are left to their attempt. */
export const AHEAD_MS = 15 * MINUTE;
export const LEAST_AHEAD_MS = MINUTE;
/** Items behind a root that is late are prepared for so long after its date, and then when the item before is out. */
export const LATE_ROOT_MS = HOUR;
/** What is ready so long before it goes out is made ready again: what was saved is used within an hour. */
export const READY_TOO_EARLY_MS = 45 * MINUTE;
/** How long somebody prepares a post without a sign of life. */
export const AHEAD_LEASE_MS = 2 * MINUTE;
/** When to prepare a post again after a failure, or undefined: its attempt does. */
export function prepareAgainDelay(failure: ProviderFailure, retryAfterMs?: number): number | undefined {
  const delay = retryDelay(0, failure === 'lost' ? 'unavailable' : failure, retryAfterMs);
  return delay === undefined ? undefined : Math.max(delay, 2 * MINUTE);
}

const RETRIES = [10 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR] as const;
/**
 * How long to wait before the next attempt, or undefined: give up. `failed` counts the attempts that failed before this
 * one.
 */
export function retryDelay(
  failed: number,
  failure: ProviderFailure | 'absent' | 'expired',
  retryAfterMs?: number,
): number | undefined {
  if (!['unavailable', 'rate_limited', 'absent', 'expired'].includes(failure)) return undefined;
  const usual = RETRIES[failed];
  if (usual === undefined) return undefined;
  if (failure === 'absent') return 0; // looked for long enough and not there: at once
  if (retryAfterMs === undefined) return usual;
  // as the network says, and longer where that was not enough
  return Math.min(Math.max(retryAfterMs, RETRIES[failed - 1] ?? SECOND), 24 * HOUR);
}

const LOOK_UPS = [2, 4, 8, 15, 30, 60, 120, 300, 300, 600, 900, 1_800, 1_800, 3_600].map((seconds) => seconds * SECOND);
/** When to ask the network again that did not say, or undefined: a person decides. */
export const lookUpDelay = (lookUps: number): number | undefined => LOOK_UPS[lookUps];
/** How long a network may work on a post whose adapter does not say, and how long it may take to get ready for one. */
export const PROCESSES_WITHIN_MS = 24 * HOUR;
/** When to poll again a network that has worked for `sinceMs`: as its adapter says, and more seldom what takes long. */
export const pollDelay = (processingMs: number, sinceMs: number): number =>
  Math.max(processingMs, Math.min(Math.round(sinceMs / 20), 5 * MINUTE));

/**
 * Whether a post that the network does not have will not appear there any more. An id or key of our own makes a second
 * send harmless, unless the adapter says otherwise.
 */
export function settles({
  once,
  timeoutMs,
  settlesWithinMs,
}: Pick<Connected, 'once' | 'timeoutMs' | 'settlesWithinMs'>): number {
  if (settlesWithinMs !== undefined) return settlesWithinMs;
  return once === 'key' || once === 'own-id' ? 0 : (timeoutMs ?? CALL_MS) + 10 * SECOND;
}

/**
 * How long after it is noted that its answer is missing a request may still arrive at its network. Where a second one is
 * harmless, the post is sent again before that is over; for everybody else it is on its way until then.
 */
export function arrivesWithin({
  once,
  timeoutMs,
  settlesWithinMs,
}: Pick<Connected, 'once' | 'timeoutMs' | 'settlesWithinMs'>): number {
  const settled = settles({ once, timeoutMs, settlesWithinMs });
  return once === 'key' || once === 'own-id' ? Math.max(settled, settles({ once: 'read-back', timeoutMs })) : settled;
}
/** After so long no request may arrive any more, at any network. */
const ARRIVES_MS = settles({ once: 'read-back' });
/** A network that has shown nothing is asked again after so long at the most, and where nobody could send, after this. */
export const ASK_AGAIN_MS = 10 * SECOND;
const UNSENT_MS = 5 * SECOND;

/** Why a post failed, by the kinds of S102. */
const ERROR_KIND = {
  reauthorize: 'auth_expired',
  rate_limited: 'rate_limited',
  exhausted: 'billing_required',
  rejected: 'validation',
  unsupported: 'unsupported',
  unavailable: 'network',
  lost: 'unconfirmed',
} as const satisfies Record<ProviderFailure, string>;
/** The kind of a failure, more exact where its reason is known. */
function errorKindOf({ kind, reason, mediaFault }: Extract<AttemptOutcome, { kind: ProviderFailure }>): string {
  if (mediaFault) return 'media_processing';
  if (kind === 'rejected' && reason === 'duplicate') return 'duplicate_content';
  return kind === 'unavailable' && reason === 'server' ? 'server_error' : ERROR_KIND[kind];
}

const settlement = (
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

/** What an outcome writes. `asked`: it was found by asking the network, not by sending. */
export function settle(
  claimed: ClaimedPost,
  outcome: AttemptOutcome,
  asked?: 'unconfirmed' | 'processing',
): Settlement {
  const written = settleOutcome(claimed, outcome, asked);
  const { state, detail } = written;
  const isKnown = state === 'PUBLISHED' || detail === 'processing' || detail === 'unconfirmed';
  return claimed.isResend && !asked && !isKnown ? keepAsking(written, outcome.kind !== 'not-sent') : written;
}

/**
 * A second request has come to nothing while the first may still arrive: the post is neither failed nor anybody's to
 * change before its network was asked when that is over. What was not sent is sent by whoever can.
 */
const keepAsking = (written: Settlement, isSent: boolean): Settlement => ({
  ...written,
  state: 'QUEUE',
  detail: 'unconfirmed',
  errorKind: 'unconfirmed',
  error: written.message,
  slot: 'hold',
  topic: null,
  retryable: false,
  kind: written.dueInMs === null ? 'unconfirmed' : written.kind,
  ...(isSent ? { lookUpInMs: ARRIVES_MS } : { lookUpInMs: UNSENT_MS, dueInMs: 0 }),
});

// oxlint-disable-next-line max-lines-per-function -- a table: one case for each outcome
function settleOutcome(
  claimed: ClaimedPost,
  outcome: AttemptOutcome,
  asked?: 'unconfirmed' | 'processing',
): Settlement {
  const { attemptsFailed, lookUps } = claimed;
  const fail = (errorKind: string, error: string, retryable: boolean) =>
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
    });
  const undecided = (error: string) =>
    settlement(claimed, {
      state: 'ERROR',
      detail: 'unconfirmed',
      errorKind: 'unconfirmed',
      error,
      failed: true,
      kind: 'failed',
      message: error,
      topic: 'post.unconfirmed',
    });
  const again = (errorKind: string, error: string, dueInMs: number) =>
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
    });

  /** Nobody knows whether it is out. */
  const unanswered = (error: string, lookUpInMs: number) =>
    settlement(claimed, {
      detail: 'unconfirmed',
      errorKind: 'unconfirmed',
      error,
      lookUpInMs,
      slot: asked ? 'keep' : 'hold',
      kind: 'unconfirmed',
      message: asked ? 'The network does not show it yet' : 'The answer was lost; the network will be asked',
      data: { reason: error },
    });

  /** Nothing has failed: the post waits for the network. */
  const later = (kind: string, message: string, inMs: number) =>
    settlement(claimed, {
      detail: attemptsFailed > 0 ? 'retrying' : 'scheduled',
      dueInMs: inMs,
      rests: kind !== 'accepted',
      kind,
      message,
      data: { inMs },
    });

  switch (outcome.kind) {
    case 'published':
      return settlement(claimed, {
        state: 'PUBLISHED',
        releaseId: outcome.release.id,
        releaseUrl: outcome.release.url,
        released: outcome.release.saved ?? null,
        kind: asked === 'unconfirmed' ? 'reconciled' : 'published',
        message: asked === 'unconfirmed' ? 'Found on the network' : 'Published',
        data: { url: outcome.release.url },
        topic: 'post.published',
      });
    case 'processing':
      return settlement(claimed, {
        detail: 'processing',
        lookUpInMs: outcome.processingMs,
        kind: 'accepted',
        message: 'The network works on it',
      });
    case 'preparing':
      return later('accepted', 'The network gets ready for the post', outcome.againMs);
    case 'paced':
      return {
        ...later('rate_limited', 'The account or the app has posted as often as the network allows', outcome.againMs),
        rests: outcome.of !== 'comments', // the posts of the channel have places of their own
      };
    case 'circuit_open':
      return later(
        'circuit_open',
        'The network answers nobody at present: its posts wait until it does',
        outcome.againMs,
      );
    case 'expired': {
      const delay = retryDelay(attemptsFailed, 'expired');
      const error = 'The network dropped the post before it was published';
      return {
        ...(delay === undefined ? fail('network', error, true) : again('network', error, delay)),
        forgets: true,
      };
    }
    case 'not-sent':
      return settlement(claimed, {
        detail: attemptsFailed > 0 ? 'retrying' : 'scheduled',
        kind: 'woke',
        message: 'Handed back before anything was sent',
      });
    case 'held': // it is there: nothing makes it a second time unasked
    case 'undecided':
      return undecided(outcome.message);
    case 'absent': {
      const { isResend } = claimed; // then it was counted, and told, when that was planned
      const delay = isResend ? 0 : retryDelay(attemptsFailed, 'absent');
      const error = 'The answer was lost, and the post is not on the network';
      const { mayArriveMs = 0 } = outcome;
      if (mayArriveMs > 0) {
        const open = unanswered(error, Math.min(mayArriveMs + 50, ASK_AGAIN_MS));
        if (isResend || delay === undefined) return { ...open, resends: isResend };
        return {
          ...again('unconfirmed', error, delay),
          detail: open.detail,
          lookUpInMs: open.lookUpInMs,
          slot: open.slot,
          resends: true,
        };
      }
      return delay === undefined
        ? fail('network', error, true)
        : { ...again('network', error, delay), failed: !isResend };
    }
    case 'lost': {
      const delay = asked ? lookUpDelay(lookUps) : 0;
      if (delay === undefined) return undecided(`Nobody knows whether the post is out: ${outcome.message}`);
      return unanswered(outcome.message, outcome.retryAfterMs ?? delay);
    }
    case 'reauthorize':
      return settlement(claimed, {
        detail: 'paused',
        errorKind: 'auth_expired',
        error: outcome.message,
        kind: 'paused',
        message: 'The channel needs a new login',
        topic: 'post.paused',
      });
    case 'rate_limited':
    case 'unavailable':
    case 'rejected':
    case 'unsupported':
    case 'exhausted': {
      const errorKind = errorKindOf(outcome);
      const delay = retryDelay(attemptsFailed, outcome.kind, outcome.retryAfterMs);
      return delay === undefined
        ? fail(errorKind, outcome.message, outcome.kind === 'rate_limited' || outcome.kind === 'unavailable')
        : again(errorKind, outcome.message, delay);
    }
  }
}

/** What the network is asked about next, where it has to be: of what is sent again a scan asks, where nobody does that. */
export const lookUpOf = ({ detail, lookUpInMs, resends }: Settlement): 'unconfirmed' | 'processing' | undefined =>
  lookUpInMs === null || resends ? undefined : detail === 'processing' ? 'processing' : 'unconfirmed';

/** The windows in which something counts; without `made`: those in which all counts that a channel makes. */
export const pacesFor = <P extends Pick<Paced, 'of'>>(paces: readonly P[], made?: Paced['of']): P[] =>
  paces.filter(({ of }) => of === undefined || of === made);

/** A post is not sent by accident when its date is so long ago. */
export const PAST_MS = 24 * HOUR;
/** Whether a date is too long ago to be sent by accident (S104). */
export const tooLongAgo = (date: Date, now: Date): boolean => now.getTime() - date.getTime() > PAST_MS;
