import { ProviderError } from '../../../platform/kernel/index.ts';
import type { Handle, Prepared } from '../../../providers/registry/index.ts';
import { cleanJson, failureBefore, failureOf, released, waitOf } from './answers.ts';
import type { Connected } from '../channels-port.ts';
import { CALL_MS, HEARTBEAT_FRESH_MS, pacesFor, PROCESSES_WITHIN_MS } from '../rules.ts';
import type { ClaimedPost, AttemptOutcome } from './attempt.ts';
import { waitsForCircuitSince } from './circuit-store.ts';
import { markSent, saveHandle } from './marks.ts';
import { takePaces } from './pace.ts';
import { callMsOf, type CallTime, hasHung, inTime, postOf, type Ready, type SenderDeps, settingsOf } from './calls.ts';
import { REPLACED, type Work } from './work.ts';

/** Nothing has left, and this host will not send it. */
export class NotSent extends Error {}

/** How long an attempt waits for the network to get ready; a longer wait hands the slot back. */
const SHORT_WAIT_MS = 5_000;
/** How often a sender looks for the next heartbeat, and how many times: heartbeats are a second apart. */
export const HEARTBEAT_LOOK_MS = 49;
const HEARTBEAT_LOOKS = 40;

/**
 * Calls the adapter: first the steps that come before publishing, then the one that cannot be undone. What fails before
 * that one may be tried again.
 */
export async function publish(deps: SenderDeps, work: Work, ready: Ready): Promise<AttemptOutcome> {
  const { clock, limiter, circuits, sql } = deps;
  const { claimed } = work;
  const { channelId, channel } = claimed;
  const { lane } = ready.connected;
  const place = await limiter.enter(claimed.orgId, { lane });
  const call: Call = { latenessMs: 0, at: undefined, hasFailed: false };
  try {
    const waitsSince = () => waitsForCircuitSince(sql, claimed);
    return await circuits.guard({ channelId, channel, waitsSince }, lane, () => callAdapter(deps, work, ready, call));
  } finally {
    const { at, latenessMs, hasFailed } = call;
    place.leave(hasFailed && hasHung(clock, at));
    if (at !== undefined)
      deps.called({ provider: claimed.channel.providerId, latenessMs, durationMs: clock.monotonic() - at });
  }
}

/** What is measured of a call; `at`: when it began, by the monotonic clock. */
interface Call {
  latenessMs: number;
  at: number | undefined;
  hasFailed: boolean;
}

async function callAdapter(deps: SenderDeps, work: Work, ready: Ready, call: Call): Promise<AttemptOutcome> {
  const { clock, log, sql } = deps;
  const { claimed } = work;
  const { connected } = ready;
  try {
    const paced = await takePlaces(deps, claimed, connected);
    if (paced) return paced;
    await expectSafe(deps, work);
    work.stage = 'calling';
    work.callMs = callMsOf(ready);
    const time = timeOf(work);
    call.at = clock.monotonic();
    call.latenessMs = claimed.lateMs + (call.at - work.since);
    deps.late(call.latenessMs);
    const post = postOf(deps, claimed, ready);
    const settings = settingsOf(claimed);
    const attempt = handleOf(deps, work);

    const { prepare } = connected.social;
    if (prepare && !claimed.isPrepared) {
      const waitMs = await inTime(
        clock,
        prepared(deps, work, () => prepare(post, settings, attempt, claimed.isLater)),
        work.ended,
        time,
      );
      if (waitMs !== undefined) return notReady(waitMs, claimed, connected);
      await expectSafe(deps, work);
    }
    if (connected.once === 'at-most-once') {
      if (!(await markSent(sql, claimed))) throw new NotSent();
      if (deps.isClosed() || !deps.works.isSafe(work)) throw new NotSent();
    }
    work.stage = 'publishing'; // nothing is awaited between the last look and the call
    const answer = await inTime(clock, connected.social.publish(post, settings, attempt), work.ended, time);
    return 'processingMs' in answer
      ? { kind: 'processing', processingMs: waitOf(answer.processingMs) }
      : released(answer);
  } catch (error) {
    if (error instanceof NotSent) throw error;
    call.hasFailed = true;
    const mayBePublic = work.stage === 'publishing';
    const known = mayBePublic ? failureOf(error) : failureBefore(error);
    if (known) return known;
    const { postId, channel } = claimed;
    log.error({ err: error, postId, provider: channel.providerId }, 'an adapter failed in a way it should not');
    const message = 'The network answered something that cannot be read';
    return { kind: mayBePublic ? 'lost' : 'unavailable', message };
  }
}

/** More than the usual time, for as long as the rows have said within `CALL_MS` that this host holds the slot. */
const timeOf = (work: Work): CallTime | undefined =>
  work.callMs > CALL_MS ? { limitMs: work.callMs, heldUntil: () => work.heldSince + CALL_MS } : undefined;

/** Counts the post where its network allows so many; one that goes on where an attempt stopped has been counted. */
async function takePlaces({ sql }: SenderDeps, claimed: ClaimedPost, { paces }: Connected) {
  const counted = pacesFor(paces, claimed.isLater ? 'comments' : 'posts');
  return counted.length > 0 && !claimed.isCounted ? takePaces(sql, counted, claimed) : undefined;
}

/** A network that does not get ready in the longest time it may take is given up; a retry begins anew. */
const notReady = (waitMs: number, { savedMs }: ClaimedPost, connected: Connected): AttemptOutcome =>
  savedMs < (connected.processesWithinMs ?? PROCESSES_WITHIN_MS)
    ? { kind: 'preparing', againMs: waitMs }
    : { kind: 'rejected', message: 'The network did not get ready for the post' };

/** What the adapter is handed to note its steps. */
function handleOf({ sql }: SenderDeps, { claimed }: Work): Handle {
  const attempt: Handle = {
    saved: claimed.saved,
    thread: claimed.thread,
    async save(handle) {
      if (!(await saveHandle(sql, claimed, cleanJson(handle)))) throw new ProviderError('lost', REPLACED);
      attempt.saved = handle;
    },
  };
  return attempt;
}

/**
 * Runs the steps before publishing until the network is ready. Answers how long to wait where it is not ready soon: the
 * channel goes on meanwhile.
 */
async function prepared(
  { clock }: SenderDeps,
  { ended }: Work,
  step: () => Promise<Prepared>,
): Promise<number | undefined> {
  const begun = clock.monotonic();
  for (;;) {
    const answer = await step();
    if (answer === 'ready') return undefined;
    const waitMs = waitOf(answer.againMs);
    if (clock.monotonic() - begun + waitMs > SHORT_WAIT_MS) return waitMs;
    await clock.sleep(waitMs, ended.signal);
  }
}

/** The slot is surely this host's, right before a call. */
async function expectSafe(deps: SenderDeps, work: Work): Promise<void> {
  if (!deps.isClosed() && !deps.works.isSafe(work)) {
    await nextHeartbeat(deps);
    await deps.works.hold([work]); // a silence of this host, or a long wait: only the rows know
  }
  if (deps.isClosed() || !deps.works.isSafe(work)) throw new NotSent();
}

/**
 * Waits for the heartbeat that is late, as long as one may take that is not lost. A wall clock that was set forward looks
 * like a machine that slept until then: a post handed back for that would wait for the reconciler.
 */
async function nextHeartbeat({ clock, heartbeat, isClosed }: SenderDeps): Promise<void> {
  for (let n = 0; n < HEARTBEAT_LOOKS && !isClosed() && heartbeat.heartbeatAgeMs() > HEARTBEAT_FRESH_MS; n++)
    await clock.sleep(HEARTBEAT_LOOK_MS);
}
