import type { Database } from '../../../platform/db/index.ts';
import { type Clock, ProviderError } from '../../../platform/kernel/index.ts';
import type { Log } from '../../../platform/telemetry/index.ts';
import type { Heartbeat } from '../ports.ts';
import { CALL_MS, HEARTBEAT_FRESH_MS, SLOT_LEASE_MS } from '../rules.ts';
import type { ClaimedPost } from './attempt.ts';
import { renew } from './held-slots.ts';

/** What this host does for a claimed post. */
export interface Work {
  readonly claimed: ClaimedPost;
  /** It waits for its turn; the network is called for the steps before publishing; the post may be public. */
  stage: 'preparing' | 'calling' | 'publishing';
  /** How long a call may last with the files of the post. */
  callMs: number;
  readonly since: number;
  /** By the monotonic clock: since when the rows have surely said that this host holds the slot. */
  heldSince: number;
  /** Another host has taken it over. */
  lost: boolean;
  /** Aborted when nobody waits for the network any more: nothing more may be sent. */
  readonly ended: AbortController;
}

/** The work under way on this host, whose slots are held in the rows. */
export interface Works extends Disposable {
  readonly all: ReadonlySet<Work>;
  /** Whether one more may begin, of all and of this organization. */
  hasRoomFor(orgId: string): boolean;
  begin(claimed: ClaimedPost): Work;
  end(work: Work): void;
  /**
   * Nobody can have taken the post over: others do so after a silence of this host, or when the time of the slot is
   * over.
   */
  isSafe(work: Work): boolean;
  /** Prolongs slots, and learns which of them others hold by now. */
  hold(held: readonly Work[]): Promise<void>;
}

const RENEW_MS = 15_000;
/** Posts of one process that are claimed and not settled, and those of one organization: each is a few kilobytes. */
const MOST_IN_HAND = { inAll: 20_000, ofOne: 10_000 };
/** What became of an attempt whose host finds that it is not its own any more. */
export const REPLACED = 'This host was replaced while it was sending';
/**
 * Ends what waits for an attempt that is over; one for all, because an abort without a reason makes an error with a
 * stack.
 */
export const OVER = new Error('The attempt is over');

/**
 * Prolongs the slots of posts that wait for their turn, so that a long queue is not taken for a dead host, and of those
 * whose files take longer than other calls; where another host has such a slot, the call is broken off.
 */
export function openWorks(
  { sql, clock, heartbeat, log }: { sql: Database; clock: Clock; heartbeat: Heartbeat; log: Log },
  most = MOST_IN_HAND,
): Works {
  const works = new Set<Work>();
  const byOrg = new Map<string, number>();
  const count = (orgId: string, by: 1 | -1) => {
    const now = (byOrg.get(orgId) ?? 0) + by;
    if (now > 0) byOrg.set(orgId, now);
    else byOrg.delete(orgId);
  };

  async function hold(held: readonly Work[]): Promise<void> {
    const since = clock.monotonic();
    const still = await renew(
      sql,
      held.map(({ claimed }) => claimed),
      SLOT_LEASE_MS,
    );
    for (const work of held) {
      if (still.has(work.claimed.postId)) work.heldSince = since;
      else {
        work.lost = true;
        if (work.stage !== 'preparing') work.ended.abort(new ProviderError('lost', REPLACED));
      }
    }
  }
  async function renewSlots(): Promise<void> {
    const since = clock.monotonic();
    const old = [...works].filter(
      ({ stage, callMs, heldSince }) => (stage === 'preparing' || callMs > CALL_MS) && since - heldSince > RENEW_MS,
    );
    try {
      await hold(old);
    } catch (error) {
      log.warn({ err: error, slots: old.length }, 'slots could not be prolonged');
    }
  }
  const renewal = clock.every(RENEW_MS / 3, () => void renewSlots());

  return {
    all: works,
    hasRoomFor: (orgId) => works.size < most.inAll && (byOrg.get(orgId) ?? 0) < most.ofOne,
    begin(claimed) {
      const work: Work = {
        claimed,
        stage: 'preparing',
        callMs: CALL_MS,
        since: clock.monotonic(),
        heldSince: claimed.heldSince,
        lost: false,
        ended: new AbortController(),
      };
      works.add(work);
      count(claimed.orgId, 1);
      return work;
    },
    end(work) {
      work.ended.abort(OVER);
      if (works.delete(work)) count(work.claimed.orgId, -1);
    },
    isSafe: (work) =>
      !work.lost &&
      heartbeat.heartbeatAgeMs() <= HEARTBEAT_FRESH_MS &&
      heartbeat.steadySince() <= work.heldSince &&
      clock.monotonic() - work.heldSince <= SLOT_LEASE_MS - CALL_MS,
    hold,
    [Symbol.dispose]: () => renewal[Symbol.dispose](),
  };
}
