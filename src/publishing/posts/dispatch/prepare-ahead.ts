import { LimiterClosed } from '../../../platform/flow/index.ts';
import { ProviderError } from '../../../platform/kernel/index.ts';
import type { Handle, Prepared } from '../../../providers/registry/index.ts';
import { AHEAD_LEASE_MS, CALL_MS, prepareAgainDelay } from '../rules.ts';
import { keepPreparation, leavePreparation, noteMediaFault, noteReady, type Preparation, saveAhead } from './ahead.ts';
import { cleanJson, type Failure, failureBefore, waitOf } from './answers.ts';
import { callMsOf, hasHung, inTime, postOf, type Ready, type SenderDeps, settingsOf } from './calls.ts';
import { makeReady } from './make-ready.ts';
import { OVER } from './work.ts';

// Steps before publishing that are made ahead of the publish date. What fails here counts for nothing: the attempt at
// the date makes the steps that are missing.

/** A longer wait for the network is not sat through: the post is taken again after it. */
const SAT_THROUGH_MS = 30_000;
const SIGN_MS = 40_000;
/** Media that cannot be had are fetched again after it, until the date: whoever wrote the post may put them there. */
const MEDIA_AGAIN_MS = 60_000;
/** Ends what is under way when this host goes away; `OVER` where the post is not its own any more, or is due. */
const CLOSED = new Error('This host goes away');

/** One preparation of a post, while it is this host's. */
interface Preparing {
  readonly preparation: Preparation;
  /** By the monotonic clock: since when the row has surely said so. */
  keptSince: number;
  readonly ended: AbortController;
}

/** What this process prepares: of a post only the newest. */
export function openPreparing() {
  const underWay = new Map<string, AbortController>();
  return {
    async run(deps: SenderDeps, preparation: Preparation): Promise<void> {
      const ended = new AbortController();
      const { postId } = preparation;
      underWay.get(postId)?.abort(OVER);
      underWay.set(postId, ended);
      try {
        await prepareAhead(deps, { preparation, keptSince: preparation.heldSince, ended });
      } finally {
        ended.abort(OVER);
        if (underWay.get(postId) === ended) underWay.delete(postId);
      }
    },
    close: () => underWay.forEach((ended) => ended.abort(CLOSED)),
  };
}

async function prepareAhead(deps: SenderDeps, work: Preparing): Promise<void> {
  const { sql } = deps;
  const { preparation, ended } = work;
  void endAtDate(deps, work);
  void giveSigns(deps, work);
  let waitMs: Awaited<ReturnType<typeof makeSteps>>;
  try {
    waitMs = await Promise.race([makeSteps(deps, work), endOf(ended.signal)]);
  } catch (error) {
    if (error === OVER) return;
    waitMs = error === CLOSED || error instanceof LimiterClosed ? 0 : waitAfter(deps, error, work);
  }
  if (waitMs === 'ready') await noteReady(sql, preparation);
  else await leavePreparation(sql, preparation, waitMs);
}

/** At its date the post is the channel's: nothing is under way beside its attempt. */
async function endAtDate({ clock }: SenderDeps, { preparation: { missingMs, heldSince }, ended }: Preparing) {
  const leftMs = missingMs - (clock.monotonic() - heldSince);
  await clock.sleep(leftMs, ended.signal).then(
    () => ended.abort(OVER),
    () => {},
  );
}

/** Says now and then that the post is being prepared, and ends when it is not this host's any more. */
async function giveSigns(deps: SenderDeps, work: Preparing): Promise<void> {
  const { clock, log } = deps;
  const { preparation, ended } = work;
  for (;;) {
    await clock.sleep(SIGN_MS, ended.signal).catch(() => {});
    if (ended.signal.aborted) return;
    try {
      if (!(await keep(deps, work))) ended.abort(OVER);
    } catch (error) {
      log.warn({ err: error, postId: preparation.postId }, 'a preparation could not be prolonged');
    }
  }
}

async function keep({ sql, clock }: SenderDeps, work: Preparing): Promise<boolean> {
  const since = clock.monotonic();
  const isKept = await keepPreparation(sql, work.preparation);
  if (isKept) work.keptSince = since;
  return isKept;
}

const endOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/**
 * Fetches what lies outside and makes one step after the other. Answers how long to wait where the network is not ready
 * soon; undefined: for ever.
 */
async function makeSteps(deps: SenderDeps, work: Preparing): Promise<'ready' | number | undefined> {
  const { preparation, ended } = work;
  const ready = await fetchMedia(deps, work);
  if ('kind' in ready) {
    if (!ready.mediaFault) return prepareAgainDelay(ready.kind, ready.retryAfterMs);
    await noteMediaFault(deps.sql, preparation, ready.message);
    return MEDIA_AGAIN_MS;
  }
  const { social, preparesReplies } = ready.connected;
  if (!social.prepare) return 'ready';
  // the steps are made when the item before is out
  if (preparation.isBehind && preparesReplies) return Math.max(preparation.parentMissingMs, MEDIA_AGAIN_MS);
  for (;;) {
    const answer = await makeStep(deps, work, ready);
    if (answer === 'ready') return 'ready';
    const waitMs = waitOf(answer.againMs);
    if (waitMs > SAT_THROUGH_MS) return waitMs;
    await deps.clock.sleep(waitMs, ended.signal);
  }
}

/** One of the organization's share of what is fetched at a time. */
async function fetchMedia(deps: SenderDeps, { preparation, ended }: Preparing): Promise<Ready | Failure> {
  const place = await deps.aheadLimiter.enter(preparation.orgId, { lane: 'media', signal: ended.signal });
  try {
    return await makeReady(deps, { claimed: preparation, ended });
  } finally {
    place.leave();
  }
}

async function makeStep(deps: SenderDeps, work: Preparing, ready: Ready): Promise<Prepared> {
  const { clock, aheadLimiter } = deps;
  const { preparation, ended } = work;
  const { lane, social } = ready.connected;
  const place = await aheadLimiter.enter(preparation.orgId, { lane, signal: ended.signal });
  let called: number | undefined;
  try {
    if (!(await keep(deps, work))) throw OVER;
    called = clock.monotonic();
    const handle = handleOf(deps, preparation);
    const step = social.prepare!(
      postOf(deps, preparation, ready),
      settingsOf(preparation),
      handle,
      preparation.isLater,
    );
    const limitMs = callMsOf(ready);
    const time = { limitMs, heldUntil: () => work.keptSince + AHEAD_LEASE_MS };
    const answer = await inTime(clock, step, ended, limitMs > CALL_MS ? time : undefined);
    called = undefined;
    return answer;
  } finally {
    place.leave(hasHung(clock, called));
  }
}

/** What the adapter is handed to note its steps; what it notes is there for the next one. */
const handleOf = ({ sql }: SenderDeps, preparation: Preparation): Handle => {
  const handle: Handle = {
    saved: preparation.saved,
    thread: preparation.thread,
    async save(value) {
      if (!(await saveAhead(sql, preparation, cleanJson(value))))
        throw new ProviderError('lost', 'The post is not prepared here any more');
      handle.saved = value;
      preparation.saved = value;
    },
  };
  return handle;
};

/** A failure that may pass is no reason to wait for the date. */
function waitAfter({ log }: SenderDeps, error: unknown, { preparation, ended }: Preparing): number | undefined {
  const { postId, channel } = preparation;
  const known = failureBefore(error);
  if (!known && error !== ended.signal.reason)
    log.error({ err: error, postId, provider: channel.providerId }, 'preparing a post ahead of its date failed');
  const { kind, retryAfterMs } = known ?? { kind: 'unavailable' as const, retryAfterMs: undefined };
  return prepareAgainDelay(kind, retryAfterMs);
}
