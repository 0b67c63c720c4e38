import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { AttemptOutcome, ClaimedPost } from './dispatch/attempt.ts';
import type { Settlement } from './dispatch/settlement.ts';
import { ASK_AGAIN_MS, lookUpDelay, retryDelay, settles } from './rules.ts';
import { settlement, settlementsOf } from './settlements.ts';

/** After so long no request may arrive any more, at any network. */
const ARRIVES_MS = settles({ once: 'read-back' });
/** What nobody could send is asked about after so long. */
const UNSENT_MS = 5_000;

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

/** One case for each outcome. */
function settleOutcome(
  claimed: ClaimedPost,
  outcome: AttemptOutcome,
  asked?: 'unconfirmed' | 'processing',
): Settlement {
  const { attemptsFailed, lookUps } = claimed;
  const { fail, undecided, again, unanswered, later } = settlementsOf(claimed, asked);
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
