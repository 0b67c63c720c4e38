import { isFinal, isUnavailable } from '../../../platform/db/index.ts';
import type { PostsDeps } from '../deps.ts';
import { lookUpOf, settle } from '../outcomes.ts';
import type { ClaimedPost, Next, AttemptOutcome } from './attempt.ts';
import { noteClaimed } from './behind.ts';
import { namedOf } from './calls.ts';
import { findDueBefore } from './claim.ts';
import { tracked } from './in-hand.ts';
import { endOf } from './marks.ts';
import { endUnknownSlot } from './held-slots.ts';
import type { SettledAttempt, Settlement } from './settlement.ts';

/** What the network has to be asked about a post, and when. */
export interface PendingLookUp {
  about: 'unconfirmed' | 'processing';
  due: Date;
}

/** What is to be done after a result. */
export interface Pending {
  lookUp: PendingLookUp | undefined;
  /** The post that something follows now. */
  followed: string | undefined;
}

/** How often, and after how many milliseconds at first, a host asks what became of a claim that was not answered. */
const RECHECKS = 10;
const RECHECK_MS = 1_500;

/** How often a result is written that the database refuses, or on the way out. */
const WRITES = 10;

/**
 * Claims the slot of a channel and its earliest due post. The only door to a call that publishes. A host that has as
 * many posts in hand as it may takes no more: they wait as rows, and the scan for what is overdue wakes their channels.
 */
export async function claimNext(deps: PostsDeps, orgId: string, channelId: string): Promise<Next> {
  if (deps.sender.closed || !deps.sender.hasRoomFor(orgId)) return { kind: 'idle' };
  try {
    const next = await deps.claim(deps.sql, orgId, channelId);
    if (next.kind === 'claimed') noteClaimed(deps, next.claimed);
    return next;
  } catch (error) {
    if (isUnavailable(error)) void recheckClaim(deps, orgId, channelId);
    throw error;
  }
}

/** The due time of a channel, where that is earlier than a reminder that was set for it; undefined where it is not. */
export const findEarlierDue = (
  { sql }: PostsDeps,
  orgId: string,
  channelId: string,
  remindedAt: Date,
): Promise<Date | undefined> => findDueBefore(sql, orgId, channelId, remindedAt);

/** Sends what was claimed. A provider's failure is an outcome, never an exception. */
export const sendPost = ({ sender, inHand }: PostsDeps, claimed: ClaimedPost): Promise<AttemptOutcome> =>
  tracked(inHand, sender.send(claimed));

/**
 * Writes what became of an attempt, conditional on attempt and incarnation; answers what has to be done later.
 * `asked`: the outcome comes from a look-up.
 */
export const settleAttempt = (
  deps: PostsDeps,
  claimed: ClaimedPost,
  outcome: AttemptOutcome,
  asked?: 'unconfirmed' | 'processing',
): Promise<Pending> => report(deps, claimed, outcome, { asked });

/**
 * The same, and claims the next post of the channel in the same commit where one is due and can be sent at once.
 * Without `next` there may be one all the same: `claimNext` knows.
 */
export const settleAndClaim = (
  deps: PostsDeps,
  claimed: ClaimedPost,
  outcome: AttemptOutcome,
): Promise<Pending & { next: ClaimedPost | undefined }> =>
  report(deps, claimed, outcome, { claimsNext: !deps.sender.closed });

/** Writes what became of an attempt, and tells of it. */
async function report(
  deps: PostsDeps,
  claimed: ClaimedPost,
  outcome: AttemptOutcome,
  { asked, claimsNext = false }: { asked?: 'unconfirmed' | 'processing' | undefined; claimsNext?: boolean },
) {
  const { inHand, events, media, log } = deps;
  const settlement = { ...settle(claimed, outcome, asked), claimsNext };
  const { state, detail, error: reason } = settlement;
  const held = await tracked(inHand, write(deps, settlement)).finally(() =>
    (asked ? inHand.lookedUp : inHand.claimed).delete(claimed.postId),
  );
  if (held?.next) noteClaimed(deps, held.next);
  const { orgId, channelId, postId, attempt, channel } = claimed;
  if (held)
    events?.attemptSettled({
      orgId,
      channelId,
      postId,
      attempt,
      provider: channel.providerId,
      outcome: outcome.kind,
      asked: asked !== undefined,
      state,
      detail,
      reason,
    });
  const files = held && state !== 'QUEUE' ? [...claimed.media, ...namedOf(deps, claimed).map(({ item }) => item)] : [];
  if (files.length > 0)
    void tracked(
      inHand,
      media
        .settled(orgId, files)
        .catch((error: unknown) => log.warn({ err: error }, 'deleting copies of media failed, left to the sweep')),
    );
  const about = lookUpOf(settlement);
  return {
    lookUp: about && held?.lookUpAt ? { about, due: held.lookUpAt } : undefined,
    followed: held?.followed,
    next: held?.next,
  };
}

/**
 * Writes a result, however long the database is away: what a network said is not forgotten while this process lives.
 * Undefined: somebody else settled the attempt.
 */
async function write(deps: PostsDeps, settlement: Settlement): Promise<SettledAttempt | undefined> {
  const { sql, clock, log, inHand } = deps;
  for (let tries = 0; ; tries++) {
    try {
      const held = await deps.settle(sql, tries === 0 ? settlement : { ...settlement, claimsNext: false });
      if (held || tries === 0) return held;
      const end = await endOf(sql, settlement); // an earlier try may have been committed with its answer lost
      const own =
        end?.sameAttempt &&
        end.incarnation === settlement.incarnation &&
        end.state === settlement.state &&
        end.detail === settlement.detail;
      return own ? end : undefined;
    } catch (error) {
      log.warn({ err: error, postId: settlement.postId, tries }, 'writing a result failed, repeated');
      if (tries === 0 && settlement.claimsNext && isUnavailable(error))
        void recheckClaim(deps, settlement.orgId, settlement.channelId);
      if (tries >= WRITES && (isFinal(error) || inHand.leaving.signal.aborted)) throw error;
      await clock.sleep(Math.min(100 * 2 ** tries, 5_000));
    }
  }
}

/**
 * A claim whose answer was lost may hold: then a channel waits for a post that nobody sends. On the way out a host that
 * is gone is noticed by its silence.
 */
async function recheckClaim(
  { sql, clock, log, incarnation, inHand }: PostsDeps,
  orgId: string,
  channelId: string,
): Promise<void> {
  const { signal } = inHand.leaving;
  for (let tries = 1; tries <= RECHECKS; tries++) {
    await clock.sleep(RECHECK_MS * tries, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      await endUnknownSlot(sql, { orgId, channelId, incarnation, known: [...inHand.claimed] });
      return;
    } catch (error) {
      log.debug({ err: error, channelId, tries }, 'looking after a slot failed, repeated');
    }
  }
}
