import { LimiterClosed, type LimiterPlace } from '../../../platform/flow/index.ts';
import { draining, isBusy } from '../../../platform/kernel/index.ts';
import type { Polled } from '../../../providers/registry/index.ts';
import { clean, failureOf, released, unclear, waitOf } from './answers.ts';
import type { ClaimedPost, AttemptOutcome } from './attempt.ts';
import type { Connected } from '../channels-port.ts';
import { arrivesWithin, ASK_AGAIN_MS, pollDelay, PROCESSES_WITHIN_MS, settles } from '../rules.ts';
import { findOnNetwork } from './look-up.ts';
import { filesOf, hasHung, inTime, postOf, type SenderDeps, settingsOf } from './calls.ts';
import { OVER } from './work.ts';

/** Asks the network what became of an attempt: by the handle of a post that it works on, else by looking for it. */
export async function askNetwork(
  deps: SenderDeps,
  claimed: ClaimedPost,
  about: 'unconfirmed' | 'processing',
): Promise<AttemptOutcome> {
  const { clock, channels, lookUpLimiter } = deps;
  const started = clock.monotonic();
  const ended = new AbortController();
  let place: LimiterPlace | undefined;
  let called: number | undefined;
  let failed = false;
  try {
    const connected = await channels.connect(claimed.orgId, claimed.channelId, claimed.channel, ended.signal);
    const { find, poll } = connected.social;
    const isPolled = about === 'processing';
    if (isPolled ? !poll : !find)
      return isPolled || claimed.mayHaveSent
        ? { kind: 'undecided', message: 'The answer was lost, and this network cannot be asked' }
        : { kind: 'not-sent' };
    place = await lookUpLimiter.enter(claimed.orgId, { lane: connected.lane });
    const files = await filesOf(deps, claimed, ended.signal);
    const post = postOf(deps, claimed, { connected, links: claimed.links, ...files });
    const settings = settingsOf(claimed);
    called = clock.monotonic();
    const unansweredMs = claimed.unansweredMs + called - started; // what it shows later it was not asked for
    if (isPolled) return polled(await inTime(clock, poll!(post, settings, claimed), ended), unansweredMs, connected);
    const wanted = { claimed, post, settings, find: find!, write: connected.write };
    const shown = await inTime(clock, findOnNetwork(deps.sql, wanted), ended);
    if (shown.kind === 'found') return released(shown.release);
    return shown.kind === 'unclear' ? unclear(shown) : notShown(connected, unansweredMs);
  } catch (error) {
    if (error instanceof LimiterClosed) throw draining();
    if (isBusy(error)) throw error; // a person is told, a scan comes again
    failed = true;
    return unanswered(error, claimed, about);
  } finally {
    ended.abort(OVER);
    place?.leave(failed && hasHung(clock, called));
  }
}

const NEVER_SAID = { kind: 'undecided', message: 'The network took the post and never said that it is out' } as const;

/** What a network said of a post that it worked on. */
function polled(
  answer: Polled,
  unansweredMs: number,
  { processesWithinMs = PROCESSES_WITHIN_MS }: Connected,
): AttemptOutcome {
  if ('rejected' in answer) return { kind: 'rejected', message: clean(answer.rejected), reason: answer.reason };
  if ('expired' in answer) return { kind: 'expired' };
  if (!('processingMs' in answer)) return released(answer);
  return unansweredMs < processesWithinMs
    ? { kind: 'processing', processingMs: pollDelay(waitOf(answer.processingMs), unansweredMs) }
    : NEVER_SAID;
}

/** A network that does not show a post may show it later: until it has settled its answer is open. */
function notShown(connected: Connected, unansweredMs: number): AttemptOutcome {
  const leftMs = settles(connected) - unansweredMs;
  if (leftMs <= 0) return { kind: 'absent', mayArriveMs: Math.max(0, arrivesWithin(connected) - unansweredMs) };
  return {
    kind: 'lost',
    message: 'The network does not show the post yet',
    retryAfterMs: Math.min(leftMs + 50, ASK_AGAIN_MS),
  };
}

/** A network that could not be asked is asked again, for a day; that says nothing about the post. */
function unanswered(
  error: unknown,
  { lookUps, unansweredMs }: ClaimedPost,
  about: 'unconfirmed' | 'processing',
): AttemptOutcome {
  const { message = 'The network could not be asked', retryAfterMs } = failureOf(error) ?? {};
  if (about === 'unconfirmed') return { kind: 'lost', message, retryAfterMs };
  return unansweredMs < PROCESSES_WITHIN_MS
    ? { kind: 'processing', processingMs: retryAfterMs ?? Math.min(5_000 * 2 ** Math.min(lookUps, 6), 300_000) }
    : NEVER_SAID;
}
