import type { Json } from '../../platform/db/index.ts';
import { lookUpDelay, type MadeOutcome } from '../posts/index.ts';
import type { FollowUp } from './row.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** After the first try at once. */
const RETRIES = [MINUTE, 5 * MINUTE, 30 * MINUTE] as const;

/**
 * What became of a follow-up. `none`: the network has no such thing. `ended`: its post or its configuration is gone.
 * `behind`: items of its thread are not out. `stopped`: the channel that should act is disabled. `gone`: it is deleted.
 */
export type FollowUpOutcome =
  | MadeOutcome
  | { kind: 'none' }
  | { kind: 'ended'; message: string }
  | { kind: 'behind' }
  | { kind: 'stopped'; message: string }
  | { kind: 'gone'; message: string };

/** What is written of it. `null` of a message: nothing is told. */
export interface FollowUpResult {
  state: 'waiting' | 'unconfirmed' | 'done' | 'failed' | 'none' | 'ended';
  error: string | null;
  /** The next step, from now; null: it is over, or it waits for a login. */
  dueInMs: number | null;
  /** Waits until its channel is logged in and enabled again, a day at most. */
  login: boolean;
  /** Waits for a network that answers nobody, a day at most. */
  circuit: boolean;
  /** Counts towards giving up. */
  failed: boolean;
  /** The answer is missing. */
  lost: boolean;
  releaseId: string | null;
  releaseUrl: string | null;
  message: string | null;
  data: Json;
}

const result = (change: Pick<FollowUpResult, 'state' | 'message'> & Partial<FollowUpResult>): FollowUpResult => ({
  error: null,
  dueInMs: null,
  login: false,
  circuit: false,
  failed: false,
  lost: false,
  releaseId: null,
  releaseUrl: null,
  data: null,
  ...change,
});
const failed = (error: string): FollowUpResult => result({ state: 'failed', error, failed: true, message: error });

/** The end of one whose outcome nobody knows: it is not tried again. */
const mayBeThere = (message: string): FollowUpResult =>
  failed(`It may be there, and nobody can say: ${message}. Look at the network`);

/** What an outcome writes. `asked`: it was found by asking the network. */
// oxlint-disable-next-line max-lines-per-function -- a table: one case for each outcome
export function resultOf(
  { kind, attemptsFailed, lookUps, isLoginOver }: FollowUp,
  outcome: FollowUpOutcome,
  asked: boolean,
): FollowUpResult {
  const again = (error: string, retryAfterMs?: number): FollowUpResult => {
    const usual = RETRIES[attemptsFailed];
    if (usual === undefined) return failed(error);
    const dueInMs = Math.min(Math.max(usual, retryAfterMs ?? 0), DAY);
    return result({ state: 'waiting', error, dueInMs, failed: true, message: error, data: { inMs: dueInMs } });
  };
  switch (outcome.kind) {
    case 'published': {
      const { id, url } = outcome.release;
      const message = asked ? 'Found on the network' : kind === 'first_comment' ? 'The first comment is out' : 'Done';
      return result({ state: 'done', releaseId: id, releaseUrl: url, message, data: { url } });
    }
    case 'none':
      return result({ state: 'none', message: 'The network has no comments' });
    case 'ended':
      return result({ state: 'ended', message: outcome.message });
    case 'behind':
      return result({ state: 'waiting', dueInMs: DAY, message: null });
    case 'gone':
      return failed(outcome.message);
    case 'not-sent':
      return result({ state: 'waiting', dueInMs: 0, message: null });
    case 'paced':
      return result({
        state: 'waiting',
        dueInMs: outcome.againMs,
        message: 'The account or the app has posted as often as the network allows',
        data: { inMs: outcome.againMs },
      });
    case 'circuit_open':
      return result({
        state: 'waiting',
        dueInMs: outcome.againMs,
        circuit: true,
        message: 'The network answers nobody at present',
        data: { inMs: outcome.againMs },
      });
    case 'reauthorize':
      return isLoginOver
        ? failed('The channel needed a new login, and nobody logged it in within a day')
        : result({ state: 'waiting', error: outcome.message, login: true, message: 'Waits for a new login' });
    case 'stopped':
      return isLoginOver
        ? failed('The channel was disabled, and nobody enabled it within a day')
        : result({
            state: 'waiting',
            error: outcome.message,
            login: true,
            message: 'Waits until the channel is enabled',
          });
    case 'rate_limited':
    case 'unavailable':
      return again(outcome.message, outcome.retryAfterMs);
    case 'absent': {
      const error = 'The answer was lost, and the network does not have it';
      const next = again(error);
      return next.state === 'waiting' ? { ...next, dueInMs: 0, data: { inMs: 0 } } : next;
    }
    case 'lost': {
      const delay = asked ? lookUpDelay(lookUps) : 0;
      if (delay === undefined) return mayBeThere(outcome.message);
      return result({
        state: 'unconfirmed',
        error: outcome.message,
        lost: true,
        dueInMs: outcome.retryAfterMs ?? delay,
        message: asked ? 'The network does not show it yet' : 'The answer was lost; the network will be asked',
        data: { reason: outcome.message },
      });
    }
    case 'undecided':
      return mayBeThere(outcome.message);
    case 'held':
    case 'rejected':
    case 'unsupported':
    case 'exhausted':
      return failed(outcome.message);
  }
}
