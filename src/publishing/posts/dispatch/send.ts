import { LimiterClosed, openLimiter } from '../../../platform/flow/index.ts';
import { isBusy } from '../../../platform/kernel/index.ts';
import { askNetwork } from './ask.ts';
import type { ClaimedPost, AttemptOutcome } from './attempt.ts';
import type { Preparation } from './ahead.ts';
import type { SenderDeps, SenderOptions } from './calls.ts';
import { openCircuits } from './circuit.ts';
import { makeReady } from './make-ready.ts';
import { openPreparing } from './prepare-ahead.ts';
import { NotSent, publish } from './publish.ts';
import { callsWithoutSlot } from './without-slot.ts';
import { openWorks, type Work } from './work.ts';

export interface Sender extends ReturnType<typeof callsWithoutSlot> {
  /** Fresh token, place, adapter. A provider's failure is an outcome, never an exception. */
  send(claimed: ClaimedPost): Promise<AttemptOutcome>;
  /**
   * Asks the network for a post whose answer was lost, or that it still works on; waits for its turn among the
   * look-ups.
   */
  lookUp(claimed: ClaimedPost, about: 'unconfirmed' | 'processing'): Promise<AttemptOutcome>;
  /** Makes the steps before publishing ahead of the publish date, until it comes; waits for its turns among those. */
  prepareAhead(preparation: Preparation): Promise<void>;
  /** From now on nothing is sent. */
  close(): void;
  underWay(): readonly Work[];
  /** Whether one more post of this organization may be claimed here: each takes memory until it is sent. */
  hasRoomFor(orgId: string): boolean;
  readonly closed: boolean;
  readonly inFlight: number;
  readonly waiting: number;
  [Symbol.dispose](): void;
}

/** Sends what was claimed, beside the turns. Every wait of it is bounded. */
export function openSender(options: SenderOptions): Sender {
  const { inFlight, perLane, lookUps } = options;
  const limiter = openLimiter({ total: inFlight, perLane, perOwner: 'share' });
  const lookUpLimiter = openLimiter({ total: lookUps.inAll, perLane: lookUps.perLane, perOwner: 'share' });
  const works = openWorks(options);
  const preparing = openPreparing();
  let closed = false;
  const aheadLimiter = openLimiter({ total: lookUps.inAll, perLane: lookUps.perLane, perOwner: 'share' });
  const followUpLimiter = openLimiter({ total: lookUps.inAll, perLane: lookUps.perLane, perOwner: 'share' });
  const readingLimiter = openLimiter({ total: lookUps.inAll, perLane: lookUps.perLane, perOwner: 'share' });
  const limiters = { limiter, lookUpLimiter, aheadLimiter, followUpLimiter, readingLimiter };
  const deps: SenderDeps = {
    ...options,
    ...limiters,
    works,
    circuits: openCircuits(options),
    isClosed: () => closed,
  };

  return {
    get closed() {
      return closed;
    },
    get inFlight() {
      return limiter.inFlight;
    },
    get waiting() {
      return limiter.waiting;
    },
    underWay: () => [...works.all],
    hasRoomFor: (orgId) => works.hasRoomFor(orgId),
    close() {
      closed = true;
      for (const one of Object.values(limiters)) one.close();
      preparing.close();
    },
    async send(claimed) {
      const work = works.begin(claimed);
      try {
        const ready = await makeReady(deps, work);
        return 'kind' in ready ? ready : await publish(deps, work, ready);
      } catch (error) {
        if (error instanceof NotSent || error instanceof LimiterClosed || isBusy(error)) return { kind: 'not-sent' };
        throw error;
      } finally {
        works.end(work);
      }
    },
    ...callsWithoutSlot(deps),
    prepareAhead: (preparation) => preparing.run(deps, preparation),
    lookUp: (claimed, about) => askNetwork(deps, claimed, about),
    [Symbol.dispose]: () => works[Symbol.dispose](),
  };
}
